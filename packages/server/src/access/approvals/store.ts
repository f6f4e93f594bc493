import { sql } from 'kysely'
import { now, secondsAgo, secondsFromNow, thisMoment } from '#platform/clock.ts'
import type { Db, HotStatement, Tx } from '#platform/database.ts'
import { isPending, stateText } from '#platform/deadline.ts'
import type { GrantMode, Tables } from '#platform/tables.ts'
import type { ApprovalState } from './lifecycle.ts'

/** Kinds that have a row here; pairing codes are in a table of their own. */
export type StoredKind = Tables['approval_requests']['kind']

const requestStateText = `case when r.closed is not null then 'expired' else ${stateText('r')} end`
/** How a request `r` reads. */
export const requestState = sql<ApprovalState>`${sql.raw(requestStateText)}`

/** After a no. */
const quietSeconds = 600
const keepAfterExpirySeconds = 31 * 24 * 3600

interface NewRequest {
  id: string
  kind: StoredKind
  key_id: number | null
  user_id: string
  workspace_id: string
  /** Equal for requests that ask for the same; its own id when left out. */
  same_as?: Buffer
  scopes?: string[]
  mode?: GrantMode | null
  reason?: string | null
  action?: string | null
  link_code?: string | null
  subject?: string
  question?: string
  /** Open until it is decided or withdrawn when left out. */
  lifetimeSeconds?: number
}

/**
 * Gives the ids of those that were not there: a question is asked once, a key's owner about its limit once, and a link
 * code that is taken is not given to another.
 */
export async function insertRequests(tx: Tx, rows: readonly NewRequest[]): Promise<string[]> {
  const inserted = await tx
    .insertInto('approval_requests')
    .values(
      rows.map(({ lifetimeSeconds, ...row }) => ({
        ...row,
        scopes: row.scopes ?? [],
        mode: row.mode ?? null,
        reason: row.reason ?? null,
        action: row.action ?? null,
        link_code: row.link_code ?? null,
        subject: row.subject ?? null,
        same_as: row.same_as ?? Buffer.from(row.id),
        granted_mode: null,
        deny_reason: null,
        expires_at: lifetimeSeconds === undefined ? null : (secondsFromNow(lifetimeSeconds) as never),
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .execute()
  return inserted.map(({ id }) => id)
}

/** What this key waits for already; what runs and limits ask on its behalf has no deadline, and is not its own doing. */
export async function listPending(tx: Tx, keyId: number) {
  return tx
    .selectFrom('approval_requests')
    .select(['id', 'link_code', 'same_as'])
    .select(sql<number>`extract(epoch from expires_at - guild_now())::float8`.as('seconds_left'))
    .where('key_id', '=', keyId)
    .where(isPending('approval_requests'))
    .where('expires_at', 'is not', null)
    .execute()
}

/** Of one that waits and was asked for again. */
export async function updateTimes(tx: Tx, id: string): Promise<void> {
  await tx
    .updateTable('approval_requests')
    .set((e) => ({ times: e('times', '+', 1) }))
    .where('id', '=', id)
    .execute()
}

/** The same for the key that asks; of kinds that keys ask by themselves. */
export async function listOwnPending(db: Db, keyId: number) {
  return db
    .selectFrom('approval_requests')
    .select(['id', 'kind', 'scopes', 'created_at', 'expires_at'])
    .where('key_id', '=', keyId)
    .where('kind', 'in', ['consent', 'permission', 'ask'])
    .where(isPending('approval_requests'))
    .where('closed', 'is', null)
    .where('expires_at', 'is not', null)
    .orderBy('created_at')
    .orderBy('id')
    .$narrowType<{ kind: 'consent' | 'permission' | 'ask'; expires_at: string }>()
    .execute()
}

/** Of every kind, what limits and chats ask on its behalf included. */
export async function countPendingOfKey(db: Db, keyId: number): Promise<number> {
  const { count } = await db
    .selectFrom('approval_requests')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('key_id', '=', keyId)
    .where(isPending('approval_requests'))
    .where('closed', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}

/** What a key has asked for already that would give it all of these scopes. */
export async function findAskedFor(db: Db, keyId: number, scopes: readonly string[]) {
  return db
    .selectFrom('approval_requests')
    .select('id')
    .where('key_id', '=', keyId)
    .where('kind', 'in', ['consent', 'permission'])
    .where(isPending('approval_requests'))
    .where('closed', 'is', null)
    .where(sql<boolean>`scopes @> ${[...scopes]}::text[]`)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
}

export interface DecisionNote {
  status: 'granted' | 'denied'
  granted_mode?: GrantMode | null
  granted_until?: string | null
  deny_reason?: string | null
  answer?: string | null
  decided_by: string
  decided_by_key: number | null
  decided_session: number | null
  decided_device: string | null
  decided_passkey: string | null
  /** Instead of `granted_until`: from now on. */
  lastsSeconds?: number | undefined
}

/** Undefined when it is not pending any more. One without a deadline is kept as long as if it had expired now. */
export async function claimDecision(tx: Tx, id: string, { lastsSeconds, ...note }: DecisionNote) {
  const until = lastsSeconds === undefined ? note.granted_until : secondsFromNow(lastsSeconds)
  return tx
    .updateTable('approval_requests')
    .set({
      ...note,
      granted_until: until as never,
      decided_at: thisMoment,
      expires_at: sql`coalesce(expires_at, guild_now())` as never,
    })
    .where('id', '=', id)
    .where(isPending('approval_requests'))
    .where('closed', 'is', null)
    .returning('id')
    .executeTakeFirst()
}

/** Undefined when it is not pending any more. */
export async function claimWithdrawal(
  db: Db,
  own: { readonly keyId: number; readonly kind: StoredKind; readonly id: string },
  because: string | null,
) {
  return db
    .updateTable('approval_requests')
    .set({ closed: 'withdrawn', closed_because: because, expires_at: now })
    .where('id', '=', own.id)
    .where('key_id', '=', own.keyId)
    .where('kind', '=', own.kind)
    .where(isPending('approval_requests'))
    .where('closed', 'is', null)
    .returning('id')
    .executeTakeFirst()
}

/** Undefined when it was decided or withdrawn meanwhile: then that stands. */
export async function claimExpiry(db: Db, id: string) {
  return db
    .updateTable('approval_requests')
    .set({ closed: 'expired' })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .where('closed', 'is', null)
    .where('expires_at', '<=', now)
    .returning('id')
    .executeTakeFirst()
}

/** For those whose answer was taken back. Gives the ids of those that were not open. */
export async function updateReopened(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const rows = await tx
    .updateTable('approval_requests')
    .set({
      status: 'pending',
      decided_at: null,
      decided_by: null,
      decided_by_key: null,
      decided_session: null,
      decided_device: null,
      decided_passkey: null,
      expires_at: null,
      deny_reason: null,
    })
    .where('id', 'in', ids)
    .where((e) => e.or([e('status', '!=', 'pending'), e('expires_at', 'is not', null)]))
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** What was asked about a subject and is asked no more, but those that are kept. Gives the ids of those that were open. */
export async function updateWithdrawn(
  tx: Tx,
  kind: StoredKind,
  subject: string,
  kept: readonly string[],
): Promise<string[]> {
  const rows = await tx
    .updateTable('approval_requests')
    .set({ expires_at: now })
    .where('subject', '=', subject)
    .where('kind', '=', kind)
    .where(isPending('approval_requests'))
    .where((e) => e.not(e('id', '=', e.fn.any(e.val([...kept])))))
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** Whatever keys wait for that only their owner could decide. Gives those that were open. */
export async function updateEndedWithKeys(tx: Tx, keyIds: readonly number[], shared: readonly StoredKind[]) {
  return tx
    .updateTable('approval_requests')
    .set({ closed: 'expired', expires_at: now })
    .where((e) => e('key_id', '=', e.fn.any(e.val([...keyIds]))))
    .where('kind', 'not in', shared)
    .where(isPending('approval_requests'))
    .where('closed', 'is', null)
    .returning(['id', 'kind', 'workspace_id', 'user_id'])
    .execute()
}

export type DecidableRow = NonNullable<Awaited<ReturnType<typeof findDecidable>>>

/**
 * What this person may decide, as a member of its workspace: what is shared there, and what their own key asks while it is
 * not revoked. Undefined alike for a foreign and an unknown one.
 */
export async function findDecidable(
  db: Db,
  userId: string,
  by: { readonly id: string } | { readonly linkCode: string },
  shared: readonly StoredKind[],
) {
  const isMeant = 'id' in by ? sql<boolean>`r.id = ${by.id}` : sql<boolean>`r.link_code = ${by.linkCode}`
  return db
    .selectFrom('approval_requests as r')
    .innerJoin('workspaces as w', 'w.id', 'r.workspace_id')
    .innerJoin('workspace_members as m', 'm.workspace_id', 'r.workspace_id')
    .leftJoin('api_keys as k', 'k.id', 'r.key_id')
    .leftJoin('users as d', 'd.id', 'r.decided_by')
    .select([
      'r.id',
      'r.kind',
      'r.user_id',
      'r.workspace_id',
      'w.name as workspace_name',
      'r.scopes',
      'r.mode',
      'r.action',
      'r.link_code',
      'r.subject',
      'r.question',
      requestState.as('state'),
      'r.created_at',
      'r.expires_at',
      'r.decided_at',
      'r.decided_by',
      'd.name as decider_name',
      'r.decided_by_key',
      'r.decided_session',
      'r.decided_device',
      'r.decided_passkey',
      'r.key_id',
      'k.label as key_label',
      'k.scopes as key_scopes',
      'k.client_label',
      'k.client_ua',
      'k.client_ip',
      'k.created_at as key_created_at',
    ])
    .where(isMeant)
    .where('m.user_id', '=', userId)
    .where((e) =>
      e.or([e('r.kind', 'in', shared), e.and([e('r.user_id', '=', userId), e('k.revoked_at', 'is', null)])]),
    )
    .executeTakeFirst()
}

/** What an agent asks again and again: the state of its own request. */
export const findOwnStatement: HotStatement = {
  name: 'find-own-request',
  text: `select ${requestStateText} as state, r.granted_mode as "grantedMode", r.granted_until as "grantedUntil",
           r.deny_reason as "denyReason", r.closed, r.answer
         from approval_requests r where r.id = $1 and r.key_id = $2 and r.kind = $3`,
}

/** Whether a key's person has said no to a scope so lately that they should not be asked again. */
export async function findRecentDenial(db: Db, keyId: number, scope: string) {
  return db
    .selectFrom('approval_requests')
    .select('deny_reason as reason')
    .where('key_id', '=', keyId)
    .where('kind', '=', 'permission')
    .where('status', '=', 'denied')
    .where(sql<boolean>`scopes = array[${scope}]::text[]`)
    .where('decided_at', '>', secondsAgo(quietSeconds))
    .limit(1)
    .executeTakeFirst()
}

/** What was asked about a subject and answered, in the order of the answers. */
export async function listDecided(db: Db, subject: string) {
  return db
    .selectFrom('approval_requests')
    .select(['id', 'kind', 'status', 'decided_by', 'decided_by_key', 'decided_at', 'question'])
    .where('subject', '=', subject)
    .where('status', '!=', 'pending')
    .where('decided_at', 'is not', null)
    .orderBy('decided_at')
    .orderBy('id')
    .$narrowType<{ status: 'granted' | 'denied'; decided_at: string }>()
    .execute()
}

export async function deleteOldRequests(db: Db): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('approval_requests')
    .where('expires_at', '<=', secondsAgo(keepAfterExpirySeconds))
    .executeTakeFirst()
  return Number(numDeletedRows)
}

export async function findToolRequest(db: Db, id: string) {
  return db
    .selectFrom('approval_requests as r')
    .select([
      requestState.as('state'),
      'r.deny_reason as denyReason',
      'r.granted_until as grantedUntil',
      'r.action',
      'r.closed',
    ])
    .where('r.id', '=', id)
    .where('r.kind', '=', 'tool')
    .executeTakeFirst()
}

interface ToolGrant {
  readonly userId: string
  readonly workspaceId: string
  readonly keyId: number | null
  readonly threadId: string
  readonly tool: string
}

/** What somebody allowed before they were put out of a workspace is not allowed when they are back. */
export async function findLiveGrant(db: Db, { userId, workspaceId, keyId, threadId, tool }: ToolGrant) {
  return db
    .selectFrom('approval_requests')
    .select('id')
    .where('kind', '=', 'tool')
    .where('user_id', '=', userId)
    .where(sql`question ->> 'threadId'`, '=', threadId)
    .where(sql`question ->> 'tool'`, '=', tool)
    .where('granted_until', '>', now)
    .where(sql<boolean>`(workspace_id, user_id) in (select m.workspace_id, m.user_id
      from workspace_members m where m.joined_at <= approval_requests.created_at)`)
    .where('workspace_id', '=', workspaceId)
    .where('key_id', 'is not distinct from', keyId)
    .where('status', '=', 'granted')
    .limit(1)
    .executeTakeFirst()
}

/** What the owner of a key is asked about its limit. */
export async function findPendingBudget(tx: Tx, keyId: number) {
  return tx
    .selectFrom('approval_requests')
    .select('id')
    .where('kind', '=', 'budget')
    .where('key_id', '=', keyId)
    .where('status', '=', 'pending')
    .executeTakeFirst()
}
