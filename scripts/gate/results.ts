import { existsSync, readFileSync } from 'node:fs'

interface Failure {
  readonly test: string
  readonly why: string
}

interface FileResult {
  readonly file: string
  readonly ms: number
  readonly passed: number
  readonly ok: boolean
  readonly failures: readonly Failure[]
}

/** What the reporter says, a line of JSON each. */
export type Line =
  | { readonly kind: 'planned'; readonly files: readonly string[] }
  | { readonly kind: 'begun'; readonly file: string }
  | ({ readonly kind: 'ended' } & FileResult)
  | { readonly kind: 'unhandled'; readonly why: string }

export interface Results {
  readonly files: readonly FileResult[]
  /** Begun and never ended. */
  readonly cutOff: readonly string[]
  /** Planned and never begun. */
  readonly notRun: readonly string[]
  /** Errors that belong to no test. */
  readonly unhandled: readonly string[]
}

export function readResults(report: string): Results {
  const text = existsSync(report) ? readFileSync(report, 'utf8') : ''
  const lines = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
  const of = <Kind extends Line['kind']>(kind: Kind) =>
    lines.filter((line): line is Extract<Line, { kind: Kind }> => line.kind === kind)
  const files = of('ended')
  const ended = new Set(files.map(({ file }) => file))
  const begun = new Set(of('begun').map(({ file }) => file))
  return {
    files,
    cutOff: [...begun].filter((file) => !ended.has(file)),
    notRun: of('planned')
      .flatMap((line) => line.files)
      .filter((file) => !begun.has(file) && !ended.has(file)),
    unhandled: of('unhandled').map(({ why }) => why),
  }
}
