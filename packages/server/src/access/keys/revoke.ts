import { keyEndRoutes, keysRevokedAtOnce, succeeded } from '@guildhall/contract'
import type { Author } from '#accounts/activity/activity.ts'
import { type BoundRoute, bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import { requireRowId } from '#operations/row-id.ts'
import { noteChange } from '#platform/changes.ts'
import type { Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { idleSeconds } from './describe.ts'
import * as store from './end-store.ts'
import type { KeyCheck } from './keys.ts'
import { recordKey } from './record.ts'

interface Stopped {
  readonly stopped: number
  readonly stoppedRuns: number
}

interface EndedAlong {
  readonly endedGrants: number
  readonly droppedRequests: number
}

/** Of other features: what ends together with a key. */
export interface EndDoors {
  /** Ends whatever a key has running; how much that was. */
  stopRunning(keyId: number, by: Author): Promise<Stopped>
  /** Ends what keys were granted and what they ask, in the transaction that ends them; `tell` is for after it. */
  endAlong(tx: Tx, keyIds: readonly number[]): Promise<EndedAlong & { tell(): Promise<void> }>
}

type Because = 'revoked' | 'leak_reported'

const none = { stopped: 0, stoppedRuns: 0, endedGrants: 0, droppedRequests: 0 }

/** Every way in which a key ends before its time. */
export function keyEndHandlers(
  deps: Deps,
  check: KeyCheck,
  { stopRunning, endAlong }: EndDoors,
): BoundRoute[] {
  /** Undefined when there was nothing to revoke. The audit line is how the owner of a leaked key learns of it. */
  const end = async (tx: Tx, author: Author, key: { id: number; userId?: string }, because: Because) => {
    const revoked = await store.claimRevocation(tx, key, because)
    if (!revoked) return undefined
    await recordKey(tx, author, because === 'revoked' ? 'key.revoked' : 'key.leak_reported', revoked)
    if (because === 'leak_reported') noteChange(tx, { kinds: ['keys'], userId: revoked.user_id })
    return { revoked, ...(await endAlong(tx, [key.id])) }
  }

  const revoke = async (author: Author, key: { id: number; userId?: string }, because: Because) => {
    const ended = await deps.database.transaction((tx) => end(tx, author, key, because))
    if (ended) await check.announceChange(key.id)
    await ended?.tell()
    return ended
  }

  const stopAll = async (keyIds: readonly number[], by: Author): Promise<Stopped> => {
    let [stopped, stoppedRuns] = [0, 0]
    for (const keyId of keyIds) {
      const ofKey = await stopRunning(keyId, by)
      stopped += ofKey.stopped
      stoppedRuns += ofKey.stoppedRuns
    }
    return { stopped, stoppedRuns }
  }

  return bindRoutes(keyEndRoutes, {
    revokeKey: async ({ principal, params, query }) => {
      const key = { id: requireRowId(params.id), userId: principal.userId }
      const ended = await revoke(principal, key, 'revoked')
      // What one that has ended still runs can be stopped: it was reported, or the first try did not come that far.
      const mayStop = query.stopRunning && (ended || (await store.findRevoked(deps.database.db, key)))
      if (!ended && !mayStop) throw new ApiError('NOT_FOUND')
      return {
        ...succeeded,
        ...none,
        ...(ended && countsOf(ended)),
        ...(mayStop && (await stopRunning(key.id, principal))),
      }
    },

    revokeKeys: async ({ principal, body }) => {
      const { userId } = principal
      const { ids, dormant, stopRunning: mayStop } = body
      if ((ids !== undefined) === (dormant === true))
        throw new ApiError('INVALID_INPUT', { message: 'Send ids, or dormant: true, and not both' })
      const { chosen, done, more } = await deps.database.transaction(async (tx) => {
        const wanted = [...new Set(ids)]
        const found =
          ids === undefined
            ? await store.lockQuiet(tx, userId, idleSeconds, keysRevokedAtOnce + 1)
            : await store.lockOwn(tx, userId, wanted)
        if (found.length < wanted.length) throw new ApiError('NOT_FOUND')
        const chosen = found.slice(0, keysRevokedAtOnce)
        const done = []
        for (const { id, revoked_at } of chosen) {
          const ended = revoked_at === null ? await end(tx, principal, { id, userId }, 'revoked') : undefined
          if (ended) done.push(ended)
        }
        return { chosen: chosen.map(({ id }) => id), done, more: found.length > chosen.length }
      })
      await Promise.all(done.map(({ revoked }) => check.announceChange(revoked.id)))
      for (const { tell } of done) await tell()
      return {
        ...succeeded,
        revoked: chosen,
        more,
        ...none,
        endedGrants: done.reduce((sum, { endedGrants }) => sum + endedGrants, 0),
        droppedRequests: done.reduce((sum, { droppedRequests }) => sum + droppedRequests, 0),
        ...(mayStop && (await stopAll(chosen, principal))),
      }
    },

    revokeOwnKey: async ({ principal, query }) => {
      const { credentialId: id, userId } = principal
      // By somebody else a moment ago: then it has ended, as it was to.
      const ended = await revoke(principal, { id, userId }, 'revoked')
      return {
        ...succeeded,
        ...none,
        ...(ended && countsOf(ended)),
        ...(query.stopRunning && (await stopRunning(id, principal))),
      }
    },

    reportLeakedKey: async ({ body, client }) => {
      const leaked = await check.authenticate(body.key.trim(), client.address)
      if (!leaked) return { ...succeeded, revoked: false }
      const id = leaked.credentialId
      const ended = await revoke('anonymous', { id }, 'leak_reported')
      if (!ended) await check.announceChange(id)
      else deps.logger.warn({ keyId: id, userId: ended.revoked.user_id }, 'key revoked: reported as leaked')
      return { ...succeeded, revoked: ended !== undefined }
    },
  })
}

const countsOf = ({ endedGrants, droppedRequests }: EndedAlong): EndedAlong => ({
  endedGrants,
  droppedRequests,
})
