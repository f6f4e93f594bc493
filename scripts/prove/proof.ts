/** What must be there for a proof to say anything. */
export type Need = 'quiet' | 'root' | 'peers' | 'chromium' | 'wrk' | 'MODELS'

export interface Proof {
  readonly name: string
  /** One sentence that is false when the proof fails. */
  readonly claim: string
  readonly size: string
  /** About how long it takes, on two cores. */
  readonly minutes: number
  readonly needs: readonly Need[]
  readonly run: TestRun | ProgramRun
}

/** Files of tests, at the sizes and bounds that `PROOF=1` gives them. */
interface TestRun {
  readonly files: readonly string[]
}

/** A program of its own, and which lines of what it prints are its figures. */
interface ProgramRun {
  readonly program: string
  readonly args?: readonly string[]
  readonly figures: RegExp
}

/** Names of files without what all of them begin and end with. */
export const server = (...names: string[]) => names.map((name) => `packages/server/test/${name}.test.ts`)
export const system = (...names: string[]) =>
  names.map((name) => `test/system/${name}${name.includes('.') ? '' : '.test'}.ts`)

export const ofBare = /required|NOT REACHED/
export const violations = /violations|VIOLATION|Nothing was lost|cannot have happened/
