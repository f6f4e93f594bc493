import type { AnswerOf, Route } from '@guildhall/contract'
import type { Access } from '#operations/access.ts'
import type { Call } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import type { Grants } from '#operations/grants.ts'
import type { Principal } from '#operations/principal.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import * as store from './store.ts'

export { deleteAnswersOf } from './store.ts'

export function idempotencyFeature({ database }: Pick<Deps, 'database'>): Feature {
  return { sweeps: [{ table: 'idempotency_keys', run: () => store.deleteForgottenKeys(database.db) }] }
}

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
  const { repeatable, deps } = call
  const access = call.access as Access
  try {
    await call.confirm()
  } catch (refusal) {
    // What it was admitted by may have been spent by the same request, sent twice.
    const earlier = isForScopes(refusal) ? await findEarlier(call) : undefined
    if (!earlier || !repeatable) throw refusal
    await access.settleEarlier(repeatable.key)
    return earlier.answer as AnswerOf<R>
  }
  const paid = async (tx: Tx) => {
    await access.spend(tx)
    return effect(tx)
  }
  if (!repeatable) {
    const { answer } = await deps.database.transaction(paid)
    access.settle()
    await confirm(answer)
    return answer
  }
  const claim = { caller: callerOf(call), ...repeatable }
  const made = await deps.database.transaction(async (tx) => {
    if (!(await store.claimKey(tx, claim)))
      return recall(call.route, claim, await store.findAnswer(tx, claim.caller, claim.key))
    const created = await paid(tx)
    const kept = call.route.answersSecret ? null : created.answer
    await store.updateAnswer(tx, claim, { answer: kept, resourceId: created.resourceId })
    return created
  })
  // What was recorded a moment ago came to nothing since then.
  if (!made) return createOnce(call, effect, confirm)
  access.settle()
  await confirm(made.answer)
  return made.answer
}

/** For an effect of one statement, which is whole by itself: without a key its locks are held no longer than it takes. */
export async function createInOneStatement<R extends Route>(
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

/** Writes down in the transaction of a change that it was made, and what was answered to it. */
export type Keep<A> = (tx: Tx, answer: A, resourceId: string) => Promise<void>

/** Thrown to undo a change that was made before under the same key. */
class Repeated extends Error {}

/**
 * The same for a call that changes or decides something that is there. Such a change lets one through and refuses who comes
 * second, by the row that it is about; so the record is written last, and whoever is refused looks whether it is a repeat
 * of what was let through. Grants are spent by the change itself, which knows which row to hold first.
 */
export async function changeOnce<R extends Route>(
  call: Call<R>,
  change: (keep: Keep<AnswerOf<R>>) => Promise<AnswerOf<R>>,
): Promise<AnswerOf<R>> {
  const { repeatable, route, deps } = call
  const access = call.access as Access
  if (!repeatable) return change(async () => {})
  const claim = { caller: callerOf(call), ...repeatable }
  const keep: Keep<AnswerOf<R>> = async (tx, answer, resourceId) => {
    if (!(await store.claimKey(tx, claim))) throw new Repeated()
    await store.updateAnswer(tx, claim, { answer, resourceId })
  }
  try {
    return await change(keep)
  } catch (error) {
    if (!mayBeRepeat(route, error)) throw error
    const earlier = recall(route, claim, await store.findAnswer(deps.database.db, claim.caller, claim.key))
    if (earlier) {
      access.settle()
      return earlier.answer
    }
    // What was recorded a moment ago came to nothing since then.
    if (error instanceof Repeated) return changeOnce(call, change)
    throw error
  }
}

/**
 * Whether this can be the refusal of something that was done before. Who may not do it is not told what was answered to
 * others; a person's own session may always, and what it is refused with then is a passkey's proof that is used up.
 */
function mayBeRepeat(route: Route, error: unknown): boolean {
  if (error instanceof Repeated) return true
  if (!(error instanceof ApiError) || error.status >= 500) return false
  return route.audience === 'session' || error.status !== 403
}

/**
 * A record belongs to the credential that made it: else a narrow key could take the keys that its owner is going to use, and
 * be told what another was answered. Of an app each grant is one, whichever token of it asks. The sessions of a person are
 * one, since a person signs in again and goes on.
 */
function callerOf({ principal }: { readonly principal: unknown }): string {
  const { kind, userId, credential, oauthGrantId, workspaceId } = principal as Principal
  const own = { session: userId, key: credential, oauth: `oauth:${oauthGrantId}` }[kind]
  return `${own}:${workspaceId}`
}

/**
 * What was answered to the same request before, whatever has changed since then: asked before anything else is looked at,
 * so that a client whose answer got lost is not told that nothing happened.
 */
export async function findEarlier(call: Pick<Call, 'route' | 'principal' | 'repeatable' | 'deps'>) {
  const { route, repeatable, deps } = call
  if (!repeatable) return undefined
  const claim = { caller: callerOf(call), ...repeatable }
  return recall(route, claim, await store.findAnswer(deps.database.db, claim.caller, claim.key))
}

/**
 * Who has lost a scope is still told again what it was answered when it had it. Gives the refusal, for what turns out to be
 * no repeat when its body is there; throws it when this credential has not used the key at all. What answers by events
 * tells what has happened since then, too: that is for who spent a grant on it.
 */
export async function refuseUnlessUsed(
  { grants, deps }: { readonly grants: Grants; readonly deps: Pick<Deps, 'database'> },
  asked: { readonly route: Route; readonly principal: Principal; readonly key: string | undefined },
  refusal: unknown,
): Promise<ApiError> {
  const { route, principal, key } = asked
  if (!isForScopes(refusal) || !route.creates || key === undefined) throw refusal
  if (!(await store.findAnswer(deps.database.db, callerOf({ principal }), key))) throw refusal
  if (route.stream && !(await grants.wasSpentFor(principal, key))) throw refusal
  return refusal
}

function isForScopes(refusal: unknown): refusal is ApiError {
  return refusal instanceof ApiError && refusal.details?.['missing_scopes'] !== undefined
}

function recall<R extends Route>(
  route: R,
  claim: { readonly requestHash: Buffer },
  earlier: Awaited<ReturnType<typeof store.findAnswer>>,
): Created<R> | undefined {
  if (!earlier) return undefined
  if (!earlier.request_hash.equals(claim.requestHash)) {
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
