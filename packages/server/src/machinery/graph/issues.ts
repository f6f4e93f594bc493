import { hints, type IssueCode } from './hints.ts'
import { definitionLimits } from './limits.ts'

export type { IssueCode }

interface Found {
  readonly code: IssueCode
  /** Dotted, from the definition's root; empty for the whole. */
  readonly path: string
  readonly message: string
}

interface Issue extends Found {
  /** What to write there instead. */
  readonly hint: string
}

/** Gives nothing, so that a reader can refuse and return in one go. */
export type AddIssue = (code: IssueCode, path: string, message: string) => undefined

export interface IssueReport {
  readonly issues: readonly Issue[]
  readonly count: number
  readonly truncated?: true
}

/** Enough to sort the first hundred out of, without keeping the tens of thousands a hostile text can cause. */
const keptIssues = 10 * definitionLimits.issues

export function collectIssues(): { add: AddIssue; count(): number; report(): IssueReport } {
  const kept: Found[] = []
  let count = 0
  return {
    add: (code, path, message) => {
      count++
      if (kept.length < keptIssues) kept.push({ code, path, message })
    },
    count: () => count,
    report: () => {
      const first = kept.sort(byPosition).slice(0, definitionLimits.issues)
      const issues = first.map((found) => ({ ...found, hint: hints[found.code] }))
      return { issues, count, ...(count > issues.length && { truncated: true as const }) }
    },
  }
}

function byPosition(a: Found, b: Found): number {
  return graphIndex(a.path) - graphIndex(b.path) || (a.path < b.path ? -1 : a.path > b.path ? 1 : 0)
}

function graphIndex(path: string): number {
  return path.startsWith('graph.') ? Number.parseInt(path.slice('graph.'.length), 10) : -1
}
