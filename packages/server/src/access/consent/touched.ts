import { type KeyTouched, keyTouchedRoutes, type TouchedKind, toDs } from '@guildhall/contract'
import { listAllowedOfKey } from '#access/approvals/approvals.ts'
import { findTouchable, listAddresses } from '#access/keys/keys.ts'
import { sumSpentSince } from '#accounts/billing/billing.ts'
import { type BoundRoute, bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import { timeBound } from '#operations/page.ts'
import { requireRowId } from '#operations/row-id.ts'
import type { Db } from '#platform/database.ts'
import type { Approval } from '#platform/tables.ts'
import type { Touched, Touching } from '#platform/touched.ts'
import * as store from './store.ts'

/** Of other features: what a key did, kind by kind, in the order in which people are told. */
export type TouchReaders = readonly (readonly [
  Exclude<TouchedKind, 'permission'>,
  (touching: Touching) => Promise<Touched>,
])[]

/** What a key left behind, for whoever looks after it: it is asked for on the worst day, so also of a revoked one. */
export function touchedHandlers(readers: TouchReaders): BoundRoute[] {
  return bindRoutes(keyTouchedRoutes, {
    getKeyTouched: async ({ principal, params, query, deps }) => {
      const { db } = deps.database
      const keyId = requireRowId(params.id)
      const wanted = { userId: principal.userId, keyId, since: timeBound('since', query.since) }
      // First whose it is: nothing of a key is looked up for anybody else.
      const key = await findTouchable(db, wanted)
      if (!key) throw new ApiError('NOT_FOUND')
      const { workspaceId, label, revokedAt, since, until } = key
      const touching = { keyId, workspaceId, since }
      const [spentMilliDs, addresses, allowed, ...groups] = await Promise.all([
        sumSpentSince(db, keyId, since),
        listAddresses(db, keyId, since),
        readAllowed(db, touching, key),
        ...readers.map(async ([kind, read]) => ({ kind, ...(await read(touching)) })),
      ])
      const answer: KeyTouched = {
        key: { id: keyId, label, revokedAt },
        since,
        until,
        spend: toDs(spentMilliDs),
        addresses,
        groups: [...groups, { kind: 'permission' as const, ...allowed }]
          .filter(({ count }) => count > 0)
          .map(({ kind, count, items }) => ({ kind, count, items: [...items] })),
      }
      return answer
    },
  })
}

interface Held {
  readonly revokedAt: string | null
  readonly scopes: readonly string[]
  readonly approvals: Readonly<Record<string, Approval>>
}

/** What was allowed can be taken back as long as it holds. */
async function readAllowed(
  db: Db,
  touching: Touching,
  { revokedAt, scopes, approvals }: Held,
): Promise<Touched> {
  const { count, items } = await listAllowedOfKey(db, touching)
  if (count === 0 || revokedAt !== null) return { count, items }
  const holding = new Set([
    ...(await store.listLiveGrants(db, touching.keyId)).map(({ request_id }) => request_id),
    ...scopes.map((scope) => approvals[scope]?.requestId),
  ])
  return { count, items: items.map((item) => ({ ...item, undo: holding.has(item.id) ? 'undo' : null })) }
}
