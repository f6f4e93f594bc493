import { type KeyDetail, oneKeyRoutes, succeeded } from '@guildhall/contract'
import { countPendingOfKey } from '#access/approvals/approvals.ts'
import { type KeyCheck, lockKeyScopes, readKey } from '#access/keys/keys.ts'
import { recordActivity } from '#accounts/activity/activity.ts'
import type { Actor } from '#operations/actor.ts'
import { type BoundRoute, bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import { requireRowId } from '#operations/row-id.ts'
import type { Deps } from '#platform/deps.ts'
import * as store from './store.ts'

/** Of other features: what a key has under way, of each kind. */
export type ListWork = (keyId: number) => Promise<Pick<KeyDetail, 'running' | 'runs' | 'chats'>>

/** A key as its person looks at it closely, and ends a part of what it may do. */
export function oneKeyHandlers(check: KeyCheck, listWork: ListWork): BoundRoute[] {
  return bindRoutes(oneKeyRoutes, {
    getKey: ({ principal, params, deps }) =>
      readDetail(deps, principal.userId, requireRowId(params.id), listWork),

    endGrant: async ({ principal, params, deps }) => {
      const keyId = requireRowId(params.id)
      await endGrant(deps, principal, keyId, requireRowId(params.grantId))
      await check.announceChange(keyId)
      return succeeded
    },
  })
}

async function readDetail(
  { database: { db } }: Deps,
  userId: string,
  keyId: number,
  listWork: ListWork,
): Promise<KeyDetail> {
  // First whose it is: nothing of a key is looked up for anybody else.
  const key = await readKey(db, userId, keyId)
  const [grants, pending, work] = await Promise.all([
    store.listLiveGrants(db, keyId),
    countPendingOfKey(db, keyId),
    listWork(keyId),
  ])
  return {
    ...key,
    grants: grants.map((grant) => ({
      id: grant.id,
      scope: grant.scope,
      mode: grant.mode,
      createdAt: grant.created_at,
      expiresAt: grant.expires_at,
      requestId: grant.request_id,
      bound:
        grant.bound_method === null || grant.bound_path === null
          ? null
          : {
              method: grant.bound_method,
              path: grant.bound_path,
              bodySha256: grant.bound_body_sha256,
            },
    })),
    ...work,
    pending,
  }
}

async function endGrant(deps: Deps, person: Actor, keyId: number, grantId: number): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const { workspaceId } = await lockKeyScopes(tx, keyId, person.userId)
    const ended = await store.claimGrantEnd(tx, keyId, grantId)
    if (!ended) throw new ApiError('NOT_FOUND')
    const details = { keyId, grantId, scope: ended.scope, mode: ended.mode }
    await recordActivity(tx, person, { type: 'grant.ended', workspaceId, details })
  })
}
