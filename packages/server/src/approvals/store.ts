import { sql } from 'kysely'
import { now, secondsAgo, secondsFromNow } from '../platform/clock.ts'
import type { Db, HotStatement, Tx } from '../platform/database.ts'
import { isPending, stateOf, stateText } from '../platform/deadline.ts'
import type { GrantMode, Tables } from '../platform/tables.ts'
import type { ApprovalState } from './lifecycle.ts'

/** Kinds that have a row here; pairing codes are in a table of their own. */
export type StoredKind = Tables['approval_requests']['kind']

const keepAfterExpirySeconds = 31 * 24 * 3600

export interface InboxRow {
  id: string
  kind: 'activation' | StoredKind
  state: ApprovalState
  workspace_id: string | null
  workspace_name: string | null
  key_id: number | null
  key_label: string | null
  key_scopes: string[] | null
  key_created_at: string | null
  client_label: string | null
  client_ua: string | null
  client_ip: string | null
  scopes: string[]
  mode: GrantMode | null
  reason: string | null
  action: unknown
  code: string | null
  deny_reason: string | null
  subject: string | null
  question: unknown
  created_at: string
  expires_at: string | null
  decided_at: string | null
  asked: number
  allowed: number
  denied: number
}

export interface Page {
  status: InboxRow['state'] | undefined
  kind: string | undefined
  limit: number
  after: { createdAt: string; id: string } | undefined
}

/**
 * One list over two tables, newest first. What is shared (`shared` names the kinds) is everybody's in its workspace, the
 * rest its key's owner's. Pairing codes belong to nobody until somebody looks at them, so a person sees those looked at or
 * decided. History counts what the same key asked about the same scopes in 30 days.
 */
export async function listInbox(
  db: Db,
  userId: string,
  shared: readonly StoredKind[],
  page: Page,
): Promise<InboxRow[]> {
  const status = page.status ?? null
  const kind = page.kind ?? null
  const createdAt = page.after?.createdAt ?? null
  const id = page.after?.id ?? null
  const state = stateOf<ApprovalState>('r')
  // As literals, so that the index of what a workspace shares serves it.
  const isShared = sql`r.kind in (${sql.join(shared.map((name) => sql.lit(name)))})`
  const result = await sql<InboxRow>`
    with inbox as (
      (select r.id, r.kind, r.workspace_id, r.key_id, r.scopes, r.mode, r.reason, r.action, r.link_code as code,
         r.deny_reason, r.subject, r.question, r.created_at, r.expires_at, r.decided_at, ${state} as state,
         null as client_label, null as client_ua, null as client_ip
       from approval_requests r
       where r.user_id = ${userId} and not (${isShared}) and (${kind}::text is null or r.kind = ${kind})
         and (${createdAt}::timestamptz is null or (r.created_at, r.id) < (${createdAt}::timestamptz, ${id}::text))
         and (${status}::text is null or ${state} = ${status})
       order by r.created_at desc, r.id desc limit ${page.limit})
      union all
      (select r.id, r.kind, r.workspace_id, r.key_id, r.scopes, null, null, null, null, r.deny_reason, r.subject,
         r.question, r.created_at, r.expires_at, r.decided_at, r.state, null, null, null
       from workspace_members m cross join lateral (
         select r.*, ${state} as state
         from approval_requests r
         where r.workspace_id = m.workspace_id and ${isShared} and (${kind}::text is null or r.kind = ${kind})
           and (${createdAt}::timestamptz is null or (r.created_at, r.id) < (${createdAt}::timestamptz, ${id}::text))
           and (${status}::text is null or ${state} = ${status})
         order by r.created_at desc, r.id desc limit ${page.limit}) r
       where m.user_id = ${userId}
       order by r.created_at desc, r.id desc limit ${page.limit})
      union all
      (select 'activation_' || a.id, 'activation', k.workspace_id, a.key_id, '{}', null, null, null, a.user_code,
         null, null, null, a.created_at, a.expires_at, a.decided_at, a.state, a.client_label, a.client_ua, a.client_ip
       from (select *, case when status in ('approved', 'consumed') then 'granted' else ${stateOf('c')} end as state
           from activations c where seen_by = ${userId} or decided_by = ${userId}) a
         left join api_keys k on k.id = a.key_id
       where (${kind}::text is null or ${kind} = 'activation') and (${status}::text is null or a.state = ${status})
         and (a.decided_by is null or a.decided_by = ${userId})
         and (${createdAt}::timestamptz is null
           or (a.created_at, 'activation_' || a.id) < (${createdAt}::timestamptz, ${id}::text))
       order by a.created_at desc, a.id desc limit ${page.limit})
      order by created_at desc, id desc limit ${page.limit})
    select i.id, i.kind, i.state, i.workspace_id, w.name as workspace_name, i.key_id, k.label as key_label,
      k.scopes as key_scopes, k.created_at as key_created_at, coalesce(i.client_label, k.client_label) as client_label,
      coalesce(i.client_ua, k.client_ua) as client_ua, coalesce(i.client_ip, k.client_ip) as client_ip, i.scopes,
      i.mode, i.reason, i.action, i.code, i.deny_reason, i.subject, i.question, i.created_at, i.expires_at, i.decided_at,
      coalesce(h.asked, 0) as asked, coalesce(h.allowed, 0) as allowed, coalesce(h.denied, 0) as denied
    from inbox i
      left join workspaces w on w.id = i.workspace_id
      left join api_keys k on k.id = i.key_id
      left join lateral (
        select count(*) as asked, count(*) filter (where p.status = 'granted') as allowed,
          count(*) filter (where p.status = 'denied') as denied
        from approval_requests p
        where p.key_id = i.key_id and p.scopes && i.scopes and p.created_at > guild_now() - interval '30 days'
      ) h on i.kind in ('consent', 'permission')
    order by i.created_at desc, i.id desc`.execute(db)
  return result.rows
}

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
    .where('key_id', '=', keyId)
    .where(isPending('approval_requests'))
    .where('expires_at', 'is not', null)
    .execute()
}

export interface DecisionNote {
  status: 'granted' | 'denied'
  granted_mode?: GrantMode | null
  granted_until?: string | null
  deny_reason?: string | null
}

/** Undefined when it is not pending any more. One without a deadline is kept as long as if it had expired now. */
export async function claimDecision(tx: Tx, id: string, note: DecisionNote) {
  return tx
    .updateTable('approval_requests')
    .set({ ...note, decided_at: now, expires_at: sql`coalesce(expires_at, guild_now())` as never })
    .where('id', '=', id)
    .where(isPending('approval_requests'))
    .returning('id')
    .executeTakeFirst()
}

/** For those whose answer was taken back. Gives the ids of those that were not open. */
export async function updateReopened(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const rows = await tx
    .updateTable('approval_requests')
    .set({ status: 'pending', decided_at: null, expires_at: null, deny_reason: null })
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
      stateOf<ApprovalState>('r').as('state'),
      'r.created_at',
      'r.expires_at',
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
  text: `select ${stateText('r')} as state, r.granted_mode as "grantedMode", r.granted_until as "grantedUntil",
           r.deny_reason as "denyReason"
         from approval_requests r where r.id = $1 and r.key_id = $2 and r.kind = $3`,
}

export async function deleteOldRequests(db: Db): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('approval_requests')
    .where('expires_at', '<=', secondsAgo(keepAfterExpirySeconds))
    .executeTakeFirst()
  return Number(numDeletedRows)
}
