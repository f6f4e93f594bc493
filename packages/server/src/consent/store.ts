import { type RawBuilder, sql } from 'kysely'
import { now, secondsAgo, secondsFromNow } from '../platform/clock.ts'
import type { Db, HotStatement, Tx } from '../platform/database.ts'
import type { GrantMode } from '../platform/tables.ts'
import type { RequestState } from './lifecycle.ts'

const state: RawBuilder<RequestState> = sql<RequestState>`
  case when approval_requests.status = 'pending' and approval_requests.expires_at <= guild_now() then 'expired'
    else approval_requests.status end`

const keepAfterExpirySeconds = 31 * 24 * 3600

export interface NewRequest {
  id: string
  kind: 'consent' | 'permission'
  key_id: number
  user_id: string
  workspace_id: string
  scopes: string[]
  mode: GrantMode | null
  reason: string | null
  action: string | null
  link_code: string | null
  same_as: Buffer
}

/** Undefined when the link code is taken: draw another. */
export async function insertRequest(tx: Tx, row: NewRequest, lifetimeSeconds: number) {
  return tx
    .insertInto('approval_requests')
    .values({ ...row, expires_at: secondsFromNow(lifetimeSeconds) as never })
    .onConflict((conflict) => conflict.column('link_code').doNothing())
    .returning('id')
    .executeTakeFirst()
}

/** What this key waits for already. */
export async function listPending(tx: Tx, keyId: number) {
  return tx
    .selectFrom('approval_requests')
    .select(['id', 'link_code', 'same_as'])
    .where('key_id', '=', keyId)
    .where('status', '=', 'pending')
    .where('expires_at', '>', now)
    .execute()
}

function selectRequests(db: Db) {
  return db
    .selectFrom('approval_requests')
    .innerJoin('api_keys', 'api_keys.id', 'approval_requests.key_id')
    .innerJoin('workspaces', 'workspaces.id', 'approval_requests.workspace_id')
    .select([
      'approval_requests.id',
      'approval_requests.kind',
      'approval_requests.user_id',
      'approval_requests.workspace_id',
      'workspaces.name as workspace_name',
      'approval_requests.scopes',
      'approval_requests.mode',
      'approval_requests.reason',
      'approval_requests.action',
      'approval_requests.link_code',
      state.as('state'),
      'approval_requests.granted_mode',
      'approval_requests.granted_until',
      'approval_requests.deny_reason',
      'approval_requests.created_at',
      'approval_requests.expires_at',
      'approval_requests.decided_at',
      'approval_requests.key_id',
      'api_keys.label as key_label',
      'api_keys.scopes as key_scopes',
      'api_keys.client_label',
      'api_keys.client_ua',
      'api_keys.client_ip',
      'api_keys.created_at as key_created_at',
    ])
    .where('api_keys.revoked_at', 'is', null)
    .where('approval_requests.kind', 'in', ['consent', 'permission'])
    .$narrowType<{ kind: 'consent' | 'permission'; key_id: number; expires_at: string }>()
}

export type RequestRow = NonNullable<Awaited<ReturnType<typeof findRequest>>>

/** One that the person may decide; undefined alike for a foreign and an unknown one. */
export async function findRequest(db: Db, userId: string, id: string, kind?: 'consent' | 'permission') {
  let query = selectRequests(db)
    .where('approval_requests.user_id', '=', userId)
    .where('approval_requests.id', '=', id)
  if (kind) query = query.where('approval_requests.kind', '=', kind)
  return query.executeTakeFirst()
}

export async function findByLinkCode(db: Db, userId: string, linkCode: string) {
  return selectRequests(db)
    .where('approval_requests.user_id', '=', userId)
    .where('approval_requests.link_code', '=', linkCode)
    .executeTakeFirst()
}

/** What an agent asks again and again: the state of its own request, and its scopes as they are now. */
export const findOwnRequestStatement: HotStatement = {
  name: 'find-own-request',
  text: `select case when r.status = 'pending' and r.expires_at <= guild_now() then 'expired' else r.status end as state,
           r.granted_mode as "grantedMode", r.granted_until as "grantedUntil", r.deny_reason as "denyReason", k.scopes,
           exists (select 1 from grants g where g.request_id = r.id and g.consumed_at is not null) as consumed
         from approval_requests r join api_keys k on k.id = r.key_id
         where r.id = $1 and r.key_id = $2 and r.kind = $3`,
}

/** Moves a pending request; undefined when it is not pending any more. */
export async function claimDecision(
  tx: Tx,
  userId: string,
  id: string,
  decision:
    | { status: 'granted'; granted_mode: GrantMode | null; granted_until: string | null }
    | { status: 'denied'; deny_reason: string | null },
) {
  return tx
    .updateTable('approval_requests')
    .set({ ...decision, decided_at: now })
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('status', '=', 'pending')
    .where('expires_at', '>', now)
    .returning('id')
    .executeTakeFirst()
}

export interface NewGrant {
  key_id: number
  workspace_id: string
  scope: string
  mode: 'session' | 'one_time'
  request_id: string
  bound_method: string | null
  bound_path: string | null
  bound_body_sha256: string | null
}

export async function insertGrant(tx: Tx, grant: NewGrant, lifetimeSeconds: number): Promise<string> {
  const row = await tx
    .insertInto('grants')
    .values({ ...grant, expires_at: secondsFromNow(lifetimeSeconds) as never })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return row.expires_at
}

export async function listLiveGrants(db: Db, keyId: number) {
  return db
    .selectFrom('grants')
    .select(['scope', 'mode', 'expires_at'])
    .where('key_id', '=', keyId)
    .where('consumed_at', 'is', null)
    .where('expires_at', '>', now)
    .orderBy('id')
    .limit(1000)
    .execute()
}

/**
 * What a key may use for this request: its live grants, but those that are bound to another one, and what was spent
 * before under the same Idempotency-Key, so that a repeat of what it was spent on is let through to its answer.
 */
export const findGrantsStatement: HotStatement = {
  name: 'find-grants',
  text: `select scope, mode from grants
         where key_id = $1 and consumed_at is null and expires_at > guild_now()
           and (bound_method is null or (bound_method = $2 and bound_path = $3))
         union all
         select scope, mode from grants where key_id = $1 and spent_for = $4`,
}

/**
 * Spends one one_time grant of any of these scopes that fits the request. Who comes at the same time waits: when the
 * first one's effect is undone, the grant is there for the next. One that is bound to this very request goes before one
 * that would do for any. What was spent under the same Idempotency-Key serves it again: this is asked only when there is
 * no record of that key, so what it was spent on has come to nothing.
 */
export async function claimOneTime(
  tx: Db,
  keyId: number,
  scopes: readonly string[],
  request: { method: string; path: string; bodySha256: string; repeatKey: string | null },
) {
  const candidate = tx
    .selectFrom('grants')
    .select('id')
    .where('key_id', '=', keyId)
    .where('scope', 'in', scopes)
    .where('mode', '=', 'one_time')
    .where((e) => e.or([e('consumed_at', 'is', null), e('spent_for', '=', request.repeatKey)]))
    .where('expires_at', '>', now)
    .where((e) =>
      e.or([
        e('bound_method', 'is', null),
        e.and([
          e('bound_method', '=', request.method),
          e('bound_path', '=', request.path),
          e.or([e('bound_body_sha256', 'is', null), e('bound_body_sha256', '=', request.bodySha256)]),
        ]),
      ]),
    )
    .orderBy((e) => e('consumed_at', 'is', null))
    .orderBy((e) => e('bound_method', 'is', null))
    .orderBy('id')
    .limit(1)
    .forUpdate()
  return tx
    .updateTable('grants')
    .set({ consumed_at: now, spent_for: request.repeatKey })
    .where('id', '=', candidate)
    .returning('id')
    .executeTakeFirst()
}

/** Ends what a scope that is taken away had been granted for a time. */
export async function deleteGrants(tx: Tx, keyId: number, scope: string): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('grants')
    .where('key_id', '=', keyId)
    .where('scope', '=', scope)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

export async function deleteOldRequests(db: Db): Promise<number> {
  // A spent one stays as long as the request that it answers, whose poll tells of it.
  const grants = await db
    .deleteFrom('grants')
    .where('expires_at', '<=', secondsAgo(24 * 3600))
    .where((e) =>
      e.or([e('consumed_at', 'is', null), e('expires_at', '<=', secondsAgo(keepAfterExpirySeconds))]),
    )
    .executeTakeFirst()
  const requests = await db
    .deleteFrom('approval_requests')
    .where('expires_at', '<=', secondsAgo(keepAfterExpirySeconds))
    .executeTakeFirst()
  return Number(grants.numDeletedRows) + Number(requests.numDeletedRows)
}
