import { sql } from 'kysely'
import { now } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/database.ts'
import type { GrantMode } from '../platform/tables.ts'

export type ApprovalState = 'pending' | 'granted' | 'denied' | 'expired'

export interface InboxRow {
  id: string
  kind: 'activation' | 'consent' | 'permission' | 'workflow' | 'budget'
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

interface Page {
  status: InboxRow['state'] | undefined
  kind: string | undefined
  limit: number
  after: { createdAt: string; id: string } | undefined
}

/**
 * One list over two tables, newest first. What workflows ask is everybody's in their workspace. Pairing codes belong to
 * nobody until somebody looks at them, so a person sees those looked at or decided. History counts what the same key asked about the same scopes in 30 days.
 */
export async function listInbox(db: Db, userId: string, page: Page): Promise<InboxRow[]> {
  const status = page.status ?? null
  const kind = page.kind ?? null
  const createdAt = page.after?.createdAt ?? null
  const id = page.after?.id ?? null
  const result = await sql<InboxRow>`
    with inbox as (
      (select r.id, r.kind, r.workspace_id, r.key_id, r.scopes, r.mode, r.reason, r.action, r.link_code as code,
         r.deny_reason, r.subject, r.question, r.created_at, r.expires_at, r.decided_at,
         case when r.status = 'pending' and r.expires_at <= guild_now() then 'expired' else r.status end as state,
         null as client_label, null as client_ua, null as client_ip
       from approval_requests r
       where r.user_id = ${userId} and r.kind <> 'workflow' and (${kind}::text is null or r.kind = ${kind})
         and (${createdAt}::timestamptz is null or (r.created_at, r.id) < (${createdAt}::timestamptz, ${id}::text))
         and (${status}::text is null
           or case when r.status = 'pending' and r.expires_at <= guild_now() then 'expired' else r.status end = ${status})
       order by r.created_at desc, r.id desc limit ${page.limit})
      union all
      (select r.id, r.kind, r.workspace_id, r.key_id, r.scopes, null, null, null, null, r.deny_reason, r.subject,
         r.question, r.created_at, r.expires_at, r.decided_at, r.state, null, null, null
       from workspace_members m cross join lateral (
         select r.*, case when r.status = 'pending' and r.expires_at <= guild_now() then 'expired' else r.status end
             as state
         from approval_requests r
         where r.workspace_id = m.workspace_id and r.kind = 'workflow' and (${kind}::text is null or ${kind} = 'workflow')
           and (${createdAt}::timestamptz is null or (r.created_at, r.id) < (${createdAt}::timestamptz, ${id}::text))
           and (${status}::text is null
             or case when r.status = 'pending' and r.expires_at <= guild_now() then 'expired' else r.status end = ${status})
         order by r.created_at desc, r.id desc limit ${page.limit}) r
       where m.user_id = ${userId}
       order by r.created_at desc, r.id desc limit ${page.limit})
      union all
      (select 'activation_' || a.id, 'activation', k.workspace_id, a.key_id, '{}', null, null, null, a.user_code,
         null, null, null, a.created_at, a.expires_at, a.decided_at, a.state, a.client_label, a.client_ua, a.client_ip
       from (select *, case when status in ('approved', 'consumed') then 'granted'
             when status = 'pending' and expires_at <= guild_now() then 'expired' else status end as state
           from activations where seen_by = ${userId} or decided_by = ${userId}) a
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

interface NewApproval {
  id: string
  kind: 'workflow' | 'budget'
  key_id: number | null
  user_id: string
  workspace_id: string
  subject: string
  question: string
}

/** Gives the ids of those that were not there: a question is asked once, and a key's owner about its limit once. */
export async function insertApprovals(tx: Tx, rows: readonly NewApproval[]): Promise<string[]> {
  const inserted = await tx
    .insertInto('approval_requests')
    .values(
      rows.map((row) => ({
        ...row,
        scopes: [],
        mode: null,
        reason: null,
        action: null,
        link_code: null,
        granted_mode: null,
        deny_reason: null,
        same_as: Buffer.from(row.id),
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .execute()
  return inserted.map(({ id }) => id)
}

export interface Decision {
  status: 'granted' | 'denied'
  deny_reason: string | null
}

/** Undefined when it is not pending any more. A decided one is kept as long as if it had expired then. */
export async function claimDecision(tx: Tx, id: string, decision: Decision) {
  return tx
    .updateTable('approval_requests')
    .set({ ...decision, decided_at: now, expires_at: now })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .where((e) => e.or([e('expires_at', 'is', null), e('expires_at', '>', now)]))
    .returning('id')
    .executeTakeFirst()
}

/** Gives the ids of those that were not open. */
export async function updatePending(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const rows = await tx
    .updateTable('approval_requests')
    .set({ status: 'pending', decided_at: null, expires_at: null, deny_reason: null })
    .where('id', 'in', ids)
    .where((e) => e.or([e('status', '!=', 'pending'), e('expires_at', 'is not', null)]))
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** Gives the ids of those that were open. */
export async function updateExpired(tx: Tx, subject: string, kept: readonly string[]): Promise<string[]> {
  const rows = await tx
    .updateTable('approval_requests')
    .set({ expires_at: now })
    .where('subject', '=', subject)
    .where('kind', '=', 'workflow')
    .where('status', '=', 'pending')
    .where('expires_at', 'is', null)
    .where((e) => e.not(e('id', '=', e.fn.any(e.val([...kept])))))
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

export type DecidableRow = NonNullable<Awaited<ReturnType<typeof findDecidable>>>

/** What a member of its workspace, or the owner of its key, may decide; undefined alike for a foreign and an unknown one. */
export async function findDecidable(db: Db, userId: string, id: string) {
  const { rows } = await sql<{
    id: string
    kind: 'workflow' | 'budget'
    state: ApprovalState
    workspace_id: string
    user_id: string
    key_id: number | null
    subject: string | null
    question: unknown
  }>`
    select r.id, r.kind, r.workspace_id, r.user_id, r.key_id, r.subject, r.question,
      case when r.status = 'pending' and r.expires_at <= guild_now() then 'expired' else r.status end as state
    from approval_requests r
      join workspace_members m on m.workspace_id = r.workspace_id and m.user_id = ${userId}
      left join api_keys k on k.id = r.key_id
    where r.id = ${id}
      and (r.kind = 'workflow' or r.kind = 'budget' and r.user_id = ${userId} and k.revoked_at is null)`.execute(
    db,
  )
  return rows[0]
}

/** Undefined when the key may spend without limit. */
export async function findKeyLimit(tx: Tx, keyId: number): Promise<number | undefined> {
  const key = await tx
    .selectFrom('api_keys')
    .select('spend_limit_milli_ds')
    .where('id', '=', keyId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return key?.spend_limit_milli_ds ?? undefined
}
