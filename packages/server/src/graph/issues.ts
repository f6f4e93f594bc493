import { definitionLimits } from './limits.ts'

export type IssueCode =
  | 'not-json'
  | 'not-an-object'
  | 'definition-too-large'
  | 'missing-field'
  | 'wrong-type'
  | 'unknown-field'
  | 'invalid-workflow-id'
  | 'empty-graph'
  | 'graph-too-large'
  | 'unknown-entry-type'
  | 'missing-step-id'
  | 'invalid-step-id'
  | 'reserved-step-id'
  | 'duplicate-step-id'
  | 'args-not-allowed'
  | 'invalid-retries'
  | 'unresolved-agent'
  | 'unresolved-tool'
  | 'invalid-map-placement'
  | 'nested-container'
  | 'empty-container'
  | 'container-too-large'
  | 'predicate-count-mismatch'
  | 'invalid-predicate'
  | 'invalid-predicate-path'
  | 'predicate-too-deep'
  | 'invalid-loop-type'
  | 'invalid-concurrency'
  | 'invalid-duration'
  | 'invalid-date'
  | 'invalid-map-config'
  | 'invalid-map-source'
  | 'invalid-map-path'
  | 'invalid-template'
  | 'unknown-step-reference'
  | 'invalid-schema'
  | 'unsupported-schema-keyword'
  | 'schema-too-large'
  | 'unsafe-pattern'
  | 'incompatible-schema'

interface Issue {
  readonly code: IssueCode
  /** Dotted, from the definition's root; empty for the whole. */
  readonly path: string
  readonly message: string
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
  const kept: Issue[] = []
  let count = 0
  return {
    add: (code, path, message) => {
      count++
      if (kept.length < keptIssues) kept.push({ code, path, message })
    },
    count: () => count,
    report: () => {
      const issues = kept.sort(byPosition).slice(0, definitionLimits.issues)
      return { issues, count, ...(count > issues.length && { truncated: true as const }) }
    },
  }
}

function byPosition(a: Issue, b: Issue): number {
  return graphIndex(a.path) - graphIndex(b.path) || (a.path < b.path ? -1 : a.path > b.path ? 1 : 0)
}

function graphIndex(path: string): number {
  return path.startsWith('graph.') ? Number.parseInt(path.slice('graph.'.length), 10) : -1
}
