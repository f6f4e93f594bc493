import type { AnswerOf, Route } from '@guildhall/contract'
import type { Access } from '../operations/access.ts'
import type { Call } from '../operations/bind.ts'
import { ApiError } from '../operations/errors.ts'
import type { Principal } from '../operations/principal.ts'
import type { Db, Tx } from '../platform/database.ts'
import * as store from './store.ts'

export { deleteAnswersOf, deleteForgottenKeys } from './store.ts'

interface Created<R extends Route> {
  answer: AnswerOf<R>
  resourceId: string
}

/**
 * Runs a creating effect in one transaction together with the record of its answer, when the caller sent an
 * `Idempotency-Key`. Of two requests with one key the second waits for the first's transaction at the unique key
 * and then finds its answer; a crash takes effect and record away together. A secret is never recorded: the
 * repeat is told which thing it made. Grants are spent with the effect, and not by a repeat of it.
 *
 * Bytes may have been fetched and stored before, for minutes: who no longer may is refused here.
 *
 * What has to follow the transaction is given as `confirm`, also for a repeat. It decides nothing about the record: that
 * goes only in the transaction that ends what was made before anything came of it (`deleteAnswersOf`), whoever runs it.
 * So a repeat never does a second time what the first one did, whatever the first one was told.
 */
export async function createOnce<R extends Route>(
  call: Call<R>,
  effect: (tx: Tx) => Promise<Created<R>>,
  confirm: (answer: AnswerOf<R>) => Promise<void> = async () => {},
): Promise<AnswerOf<R>> {
  await call.confirm()
  const { repeatable, deps } = call
  const access = call.access as Access
  const paid = async (tx: Tx) => {
    await access.spend(tx)
    return effect(tx)
  }
  if (!repeatable) {
    const { answer } = await deps.database.transaction(paid)
    await confirm(answer)
    return answer
  }
  const principal = call.principal as Principal
  const claim = { caller: `${principal.userId}:${principal.workspaceId}`, ...repeatable }
  const { answer } = await deps.database.transaction(async (tx) => {
    if (!(await store.claimKey(tx, claim))) return recall(tx, call.route, claim)
    const created = await paid(tx)
    const kept = call.route.answersSecret ? null : created.answer
    await store.updateAnswer(tx, claim, { answer: kept, resourceId: created.resourceId })
    return created
  })
  await confirm(answer)
  return answer
}

/** For an effect of one statement, which is whole by itself: without a key its locks are held no longer than it takes. */
export async function createAtOnce<R extends Route>(
  call: Call<R>,
  effect: (db: Db) => Promise<Created<R>>,
  confirm: (answer: AnswerOf<R>) => Promise<void>,
): Promise<AnswerOf<R>> {
  if (call.repeatable || (call.access as Access).mustSpend) return createOnce(call, effect, confirm)
  await call.confirm()
  const { answer } = await effect(call.deps.database.db)
  await confirm(answer)
  return answer
}

async function recall<R extends Route>(
  tx: Tx,
  route: R,
  claim: { caller: string; key: string; requestHash: Buffer },
): Promise<Created<R>> {
  const earlier = await store.findAnswer(tx, claim.caller, claim.key)
  if (!earlier?.request_hash.equals(claim.requestHash)) {
    throw new ApiError('CONFLICT', { message: 'This Idempotency-Key was used for a different request' })
  }
  if (route.answersSecret) {
    throw new ApiError('CONFLICT', {
      message: 'This was created before; its secret was shown then and cannot be shown again',
      details: { id: earlier.resource_id },
    })
  }
  return { answer: earlier.answer as AnswerOf<R>, resourceId: earlier.resource_id ?? '' }
}
