import { lockUser } from '#accounts/users/users.ts'
import { ApiError } from '#operations/errors.ts'
import { tooManyRequests } from '#operations/limits.ts'
import type { Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { normalizeUserCode } from '#platform/user-code.ts'
import * as store from './store.ts'

/**
 * One guess at a code. A person's guesses run one after the other under the person's row lock, so that the budget
 * of misses holds under any concurrency; the miss is committed although the request is refused.
 */
export async function guessCode<T>(
  deps: Deps,
  userId: string,
  typedCode: string,
  find: (tx: Tx, userCode: string) => Promise<T | undefined>,
): Promise<T> {
  const { max, windowSeconds } = deps.config.limits.codeMisses
  const found = await deps.database.transaction(async (tx) => {
    await lockUser(tx, userId)
    const { misses, freeInSeconds } = await store.countMisses(tx, userId, windowSeconds)
    if (misses >= max) throw tooManyRequests(deps, 'codeMisses', Math.max(1, Math.ceil(freeInSeconds)))
    const result = await find(tx, normalizeUserCode(typedCode))
    if (result === undefined) await store.insertMiss(tx, userId)
    return result
  })
  if (found === undefined) {
    deps.metrics.codeMisses.inc()
    throw new ApiError('NOT_FOUND', { message: 'No such code; check it and try again' })
  }
  return found
}
