/** What the load did, as it saw it, and what the faults did. Everything here is data: it is kept when a check fails. */

export type Sort =
  | 'read'
  | 'start'
  | 'prepare'
  | 'post'
  | 'cancel'
  | 'rerun'
  | 'launch'
  | 'resume'
  | 'cancel-run'
  | 'unqueue'
  | 'make-key'
  | 'use-key'
  | 'revoke-key'
  | 'try-revoked'
  | 'ask'
  | 'decide'
  | 'artifact'
  | 'install'
  | 'stream'

/** One request and what came of it, in milliseconds of the clock. */
export interface Attempt {
  readonly sentAt: number
  readonly answeredAt: number
  /** Null when no answer came: broken off, or not in time. */
  readonly status: number | null
  readonly code: string | null
  /** What the answer says was made, or the state that a read saw. */
  readonly told: string | null
  /** The beginning of the answer, or how it broke off. */
  readonly text: string
  /** What was said in this attempt and in no other. */
  readonly said?: string
}

/** What somebody wanted, with all the requests it took; the same Idempotency-Key in each, where there is one. */
export interface Operation {
  /** Also the Idempotency-Key, and part of whatever it makes. */
  readonly id: string
  readonly sort: Sort
  readonly workspaceId: string
  /** The execution, run, key or request that it is about. */
  readonly target: string | null
  /** The key that it was asked with; null for a session. */
  readonly keyId: number | null
  /** Which workflow is launched, or which way is decided. */
  readonly kind: string | null
  readonly attempts: readonly Attempt[]
  readonly succeeded: boolean
}

export interface FaultRecord {
  readonly kind: string
  readonly startedAt: number
  /** When its cause was gone: the process continued, the lock released; for a kill, the kill. */
  readonly endedAt: number
  /** The processes that were killed or paused. */
  readonly pids: readonly number[]
  /** The executions whose sandboxes were killed. */
  readonly executionIds: readonly string[]
  readonly note: string
  /** By what was tried after it, how long until that succeeded; null when it never did. */
  readonly recoveryMs: Readonly<Record<string, number | null>>
}

/** An answer that says for certain that nothing was done. */
export function isRefusal({ status, text }: Pick<Attempt, 'status' | 'text'>): boolean {
  if (status === null) return false
  return (status >= 400 && status < 500) || (status >= 500 && refusesForCertain.test(text))
}

const refusesForCertain = /nothing was (charged|started|made)|could not be handed over; send it again/i

export function isSuccess({ status }: Pick<Attempt, 'status'>): boolean {
  return status !== null && status >= 200 && status < 300
}

/** Neither done for certain nor refused for certain: whoever asked must ask again. */
export function isUnclear(attempt: Attempt): boolean {
  return !isSuccess(attempt) && !isRefusal(attempt)
}

/** A process that was paused in the middle of a call finishes it when it goes on; nobody can keep it from that. */
const afterPauseMs = 3000

export function isPausedCall({ pids, startedAt, endedAt }: FaultRecord, pid: number, at: number): boolean {
  return pids.includes(pid) && at >= startedAt && at <= endedAt + afterPauseMs
}
