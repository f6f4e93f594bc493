import { atSize } from '../../support/sizes.ts'
import type { Seen } from './evidence.ts'
import { type FaultRecord, isPausedCall, isSuccess, type Operation } from './history.ts'

/** What a revocation may take to reach every process; in the gate also the machine, which others may have for seconds. */
const reachesWithinMs = atSize(5000, 1000)
/** What a step may take from the moment in which it was asked whether it may begin. */
const beginsWithinMs = atSize(10_000, 5000)

interface Revocation {
  readonly sentAt: number
  readonly answeredAt: number
  /** Whether what the key had running was to end with it. */
  readonly stops: boolean
}

/** A key that was revoked starts nothing more, and what it had running stops: at once where that was asked for. */
export function findKeyViolations(
  operations: readonly Operation[],
  faults: readonly FaultRecord[],
  { state, calls }: Seen,
): string[] {
  const revoked = new Map<number, Revocation>()
  for (const { sort, target, kind, attempts } of operations) {
    const acknowledged = attempts.find(isSuccess)
    if (sort === 'revoke-key' && acknowledged)
      revoked.set(Number(target), { ...acknowledged, stops: kind === 'true' })
  }
  const of = (keyId: number | null) => (keyId === null ? undefined : revoked.get(keyId))
  const isLate = (keyId: number | null, at: number | null) => {
    const revocation = of(keyId)
    return revocation !== undefined && at !== null && at > revocation.answeredAt + reachesWithinMs
  }
  const wentOn = (keyId: number | null, begunAt: number, endedAt: number | null) => {
    const revocation = of(keyId)
    return revocation?.stops && begunAt < revocation.sentAt && (endedAt === null || isLate(keyId, endedAt))
  }
  const keyOfRun = new Map(state.runs.map(({ runId, keyId }) => [runId, keyId]))
  const isLateStep = ({ runId, pid, at }: Seen['calls'][number]) =>
    isLate(keyOfRun.get(runId) ?? null, at - beginsWithinMs) &&
    !faults.some((fault) => isPausedCall(fault, pid, at))
  return [
    ...state.keys
      .filter(({ id, revokedAt }) => revoked.has(id) && revokedAt === null)
      .map(({ id }) => `the key ${id} was revoked and lives`),
    ...state.runs
      .filter(({ keyId, launchedAt, status }) => status !== 'void' && isLate(keyId, launchedAt))
      .map(({ runId, keyId }) => `${runId}: launched by the key ${keyId} after it was revoked`),
    ...state.runs
      .filter(({ keyId, launchedAt, endedAt }) => wentOn(keyId, launchedAt, endedAt))
      .map(({ runId, keyId }) => `${runId}: went on after it was stopped with the key ${keyId}`),
    ...calls
      .filter(isLateStep)
      .map(({ runId, stepId }) => `${runId}: began its step ${stepId} after its key was revoked`),
    ...state.executions
      .filter(({ keyId, createdAt, startedAt }) => isLate(keyId, startedAt ?? createdAt))
      .map(({ executionId, keyId }) => `${executionId}: started by the key ${keyId} after it was revoked`),
    ...state.executions
      .filter(({ keyId, createdAt, endedAt }) => wentOn(keyId, createdAt, endedAt))
      .map(({ executionId, keyId }) => `${executionId}: went on after it was stopped with the key ${keyId}`),
    ...operations
      .filter(({ sort, attempts }) => sort === 'try-revoked' && attempts.some(isSuccess))
      .map(({ id, keyId }) => `try-revoked ${id}: the key ${keyId} was served after it was revoked`),
  ]
}
