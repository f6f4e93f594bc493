import type { FinalState } from './evidence.ts'
import { isSuccess, type Operation } from './history.ts'

/** What a revocation may take to reach every process. */
const reachesWithinMs = 1000

/** A key that was revoked starts nothing more. */
export function findKeyViolations(operations: readonly Operation[], state: FinalState): string[] {
  const revoked = new Map<number, number>()
  for (const { sort, target, attempts } of operations) {
    const acknowledged = attempts.find(isSuccess)
    if (sort === 'revoke-key' && acknowledged) revoked.set(Number(target), acknowledged.answeredAt)
  }
  const isLate = (keyId: number | null, at: number | null) => {
    const since = keyId === null ? undefined : revoked.get(keyId)
    return since !== undefined && at !== null && at > since + reachesWithinMs
  }
  return [
    ...state.keys
      .filter(({ id, revokedAt }) => revoked.has(id) && revokedAt === null)
      .map(({ id }) => `the key ${id} was revoked and lives`),
    ...state.runs
      .filter(({ keyId, launchedAt, status }) => status !== 'void' && isLate(keyId, launchedAt))
      .map(({ runId, keyId }) => `${runId}: launched by the key ${keyId} after it was revoked`),
    ...state.executions
      .filter(({ keyId, createdAt, startedAt }) => isLate(keyId, startedAt ?? createdAt))
      .map(({ executionId, keyId }) => `${executionId}: started by the key ${keyId} after it was revoked`),
    ...operations
      .filter(({ sort, attempts }) => sort === 'try-revoked' && attempts.some(isSuccess))
      .map(({ id, keyId }) => `try-revoked ${id}: the key ${keyId} was served after it was revoked`),
  ]
}
