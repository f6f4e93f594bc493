import { existsSync, readFileSync } from 'node:fs'

export interface Failure {
  readonly test: string
  readonly why: string
  /** Nothing was wrong but that something had not come yet: a time-out, a service that is away. */
  readonly isLate: boolean
  /** What was seen once must not be drawn again: a counterexample, a test that was tried until it passed or not at all. */
  readonly isFinal: boolean
}

/** Where an error belongs to no test of the file. */
export const theFile = '(the file itself)'

export interface FileResult {
  readonly file: string
  readonly ms: number
  /** By name. */
  readonly passed: readonly string[]
  readonly ok: boolean
  readonly failures: readonly Failure[]
  readonly slowTests: readonly { readonly test: string; readonly ms: number }[]
}

/** What is said of a run while it goes on, a line of JSON each. */
export type Line =
  | { readonly kind: 'planned'; readonly files: readonly string[] }
  | { readonly kind: 'begun'; readonly file: string }
  | { readonly kind: 'testing'; readonly file: string; readonly test: string }
  | { readonly kind: 'tested'; readonly file: string; readonly test: string }
  | ({ readonly kind: 'ended' } & FileResult)
  | { readonly kind: 'cpu'; readonly file: string; readonly cpuMs: number }
  | { readonly kind: 'unhandled'; readonly why: string }
  | { readonly kind: 'over'; readonly files: number; readonly failed: number }

export interface Results {
  readonly files: readonly (FileResult & { readonly cpuMs: number })[]
  /** Begun and never ended, with the test that was under way. */
  readonly cutOff: readonly string[]
  /** Planned and never begun. */
  readonly notRun: readonly string[]
  /** Errors that belong to no test. */
  readonly unhandled: readonly string[]
  /** Whether all that the reporter said is there, to its last line. */
  readonly isWhole: boolean
}

/** The last line of a process that was killed may be half a line. */
function parse(line: string): Line[] {
  try {
    return [JSON.parse(line) as Line]
  } catch {
    return []
  }
}

export function readResults(report: string): Results {
  const text = existsSync(report) ? readFileSync(report, 'utf8') : ''
  const lines = text
    .split('\n')
    .filter((line) => line !== '')
    .flatMap(parse)
  const of = <Kind extends Line['kind']>(kind: Kind) =>
    lines.filter((line): line is Extract<Line, { kind: Kind }> => line.kind === kind)
  const files = of('ended')
  const ended = new Set(files.map(({ file }) => file))
  const begun = new Set(of('begun').map(({ file }) => file))
  const cpu = new Map(of('cpu').map(({ file, cpuMs }) => [file, cpuMs]))
  const tested = new Set(of('tested').map(({ file, test }) => `${file} > ${test}`))
  const testing = (file: string) =>
    of('testing')
      .filter((line) => line.file === file)
      .map(({ test }) => `${file} > ${test}`)
      .filter((name) => !tested.has(name))
  return {
    files: files.map((file) => ({ ...file, cpuMs: cpu.get(file.file) ?? 0 })),
    cutOff: [...begun]
      .filter((file) => !ended.has(file))
      .flatMap((file) => (testing(file).length > 0 ? testing(file) : [file])),
    notRun: of('planned')
      .flatMap((line) => line.files)
      .filter((file) => !begun.has(file) && !ended.has(file)),
    unhandled: of('unhandled').map(({ why }) => why),
    isWhole: of('over').some(
      (over) => over.files === files.length && over.failed === files.filter(({ ok }) => !ok).length,
    ),
  }
}
