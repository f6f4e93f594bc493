import { sql } from 'kysely'
import type { Db } from '#platform/database.ts'
import { isPending, stateOf } from '#platform/deadline.ts'
import type { GrantMode } from '#platform/tables.ts'
import type { ApprovalState } from './lifecycle.ts'
import { requestState, type StoredKind } from './store.ts'

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
  answer: unknown
  closed: 'expired' | 'withdrawn' | null
  closed_because: string | null
  created_at: string
  expires_at: string | null
  decided_at: string | null
  decided_by: string | null
  decider_name: string | null
  decided_by_key: number | null
  decided_session: number | null
  decided_device: string | null
  decided_passkey: string | null
  /** Of a device that wants to be paired. */
  client_network: string | null
  times: number
  asked: number
  allowed: number
  denied: number
  /** How many there are up to the page's limit, of which those are left out that would make it too large. */
  found: number
}

/** Of what agents wrote, in one page. Whoever asks is answered by a thread that answers everybody. */
const pageBytes = 512 * 1024

export interface Page {
  status: InboxRow['state'] | undefined
  kind: string | undefined
  limit: number
  after: { createdAt: string; id: string } | undefined
  /** This one alone. */
  only?: string
}

/**
 * One list over two tables, newest first. What is shared (`shared` names the kinds) is everybody's in its workspace, the
 * rest its key's owner's. Pairing codes belong to nobody until somebody looks at them, so a person sees those looked at or
 * decided. History counts what the same key asked about the same scopes in 30 days.
 *
 * Worked example. Ann has a workspace of her own and is a member of Bob's team; `shared` is `['workflow']`. What there is:
 *
 *     12:00  question-bob   workflow, of a run that Bob launched in the team
 *     12:10  question-ann   workflow, of a run that Ann launched in the team
 *     12:15  question-else  workflow, in Bob's own workspace
 *     12:20  consent-ann    consent, asked by a key of Ann's        12:20  consent-bob  consent, by a key of Bob's
 *     12:21  activation_1   a pairing code that Ann looked up       12:21  activation_2  one that nobody looked up
 *
 * Ann's list is activation_1 (third part), consent-ann (first part, `asked` 1: itself), question-ann and question-bob
 * (second part). With a limit of 2 each part gives its newest two, and the two newest of all are activation_1 and
 * consent-ann; the next page begins after `(12:20, consent-ann)`, in every part alike.
 *
 * - Without `not (isShared)` in the first part question-ann comes twice: it is Ann's by its run, and the team's.
 * - Without the `lateral` each workspace has no limit of its own: all of a workspace's questions are read and sorted to
 *   show one page.
 * - The limit of each part must be the whole page's: all of a page may come from one part.
 * - `(created_at, id)` is compared as a pair, because several are made within one millisecond; by the time alone a page
 *   would leave some out or repeat them.
 * - The third part names its id with the prefix `activation_` also where it is compared and ordered: that is the id in
 *   the cursor, and as a text 9 comes after 10.
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
  const only = page.only ?? null
  const isShared = sharedKind(shared)
  const result = await sql<InboxRow>`
    with inbox as (
      (select r.id, r.kind, r.workspace_id, r.key_id, r.scopes, r.mode, r.reason, r.action, r.link_code as code,
         r.deny_reason, r.subject, r.question, r.answer, r.closed, r.closed_because, r.created_at, r.expires_at,
         r.decided_at, r.decided_by, r.decided_by_key, r.decided_session, r.decided_device, r.decided_passkey, r.times,
         ${requestState} as state, null as client_label, null as client_ua, null as client_ip, null as client_network
       from approval_requests r
       where r.user_id = ${userId} and not (${isShared}) and (${only}::text is null or r.id = ${only}) and (${kind}::text is null or r.kind = ${kind})
         and (${createdAt}::timestamptz is null or (r.created_at, r.id) < (${createdAt}::timestamptz, ${id}::text))
         and (${status}::text is null or ${requestState} = ${status})
       order by r.created_at desc, r.id desc limit ${page.limit})
      union all
      (select r.id, r.kind, r.workspace_id, r.key_id, r.scopes, null, null, null, null, r.deny_reason, r.subject,
         r.question, r.answer, r.closed, r.closed_because, r.created_at, r.expires_at, r.decided_at, r.decided_by,
         r.decided_by_key, r.decided_session, r.decided_device, r.decided_passkey, r.times, r.state,
         null, null, null, null
       from workspace_members m cross join lateral (
         select r.*, ${requestState} as state
         from approval_requests r
         where r.workspace_id = m.workspace_id and ${isShared} and (${only}::text is null or r.id = ${only}) and (${kind}::text is null or r.kind = ${kind})
           and (${createdAt}::timestamptz is null or (r.created_at, r.id) < (${createdAt}::timestamptz, ${id}::text))
           and (${status}::text is null or ${requestState} = ${status})
         order by r.created_at desc, r.id desc limit ${page.limit}) r
       where m.user_id = ${userId}
       order by r.created_at desc, r.id desc limit ${page.limit})
      union all
      (select 'activation_' || a.id, 'activation', k.workspace_id, a.key_id, a.requested_scopes, null, null, null, a.user_code,
         null, null, null, null, null, null, a.created_at, a.expires_at, a.decided_at, a.decided_by, null,
         a.decided_session, a.decided_device, a.decided_passkey, 1, a.state, a.client_label, a.client_ua, a.client_ip,
         a.client_network
       from (select *, case when status in ('approved', 'consumed') then 'granted' else ${stateOf('c')} end as state
           from activations c where seen_by = ${userId} or decided_by = ${userId}) a
         left join api_keys k on k.id = a.key_id
       where (${kind}::text is null or ${kind} = 'activation') and (${status}::text is null or a.state = ${status})
         and (a.decided_by is null or a.decided_by = ${userId})
         and (${only}::text is null or 'activation_' || a.id = ${only})
         and (${createdAt}::timestamptz is null
           or (a.created_at, 'activation_' || a.id) < (${createdAt}::timestamptz, ${id}::text))
       order by a.created_at desc, 'activation_' || a.id desc limit ${page.limit})
      order by created_at desc, id desc limit ${page.limit}),
    sized as (
      select *, count(*) over () as found, coalesce(sum(coalesce(octet_length(action::text), 0) + coalesce(octet_length(question::text), 0))
        over (order by created_at desc, id desc rows between unbounded preceding and 1 preceding), 0) as before
      from inbox)
    select i.id, i.kind, i.state, i.workspace_id, w.name as workspace_name, i.key_id, k.label as key_label,
      k.scopes as key_scopes, k.created_at as key_created_at, coalesce(i.client_label, k.client_label) as client_label,
      coalesce(i.client_ua, k.client_ua) as client_ua, coalesce(i.client_ip, k.client_ip) as client_ip, i.scopes,
      i.mode, i.reason, i.action, i.code, i.deny_reason, i.subject, i.question, i.answer,
      i.closed, i.closed_because, i.created_at, i.expires_at, i.decided_at, i.decided_by, d.name as decider_name,
      i.decided_by_key, i.decided_session, i.decided_device, i.decided_passkey, i.times, i.client_network,
      coalesce(h.asked, 0) as asked, coalesce(h.allowed, 0) as allowed, coalesce(h.denied, 0) as denied,
      i.found::integer as found
    from sized i
      left join workspaces w on w.id = i.workspace_id
      left join api_keys k on k.id = i.key_id
      left join users d on d.id = i.decided_by
      left join lateral (
        select count(*) as asked, count(*) filter (where p.status = 'granted') as allowed,
          count(*) filter (where p.status = 'denied') as denied
        from approval_requests p
        where p.key_id = i.key_id and p.scopes && i.scopes and p.created_at > guild_now() - interval '30 days'
      ) h on i.kind in ('consent', 'permission')
    where i.before < ${pageBytes}
    order by i.created_at desc, i.id desc`.execute(db)
  return result.rows
}

/** As literals, so that the index of what a workspace shares serves it. */
function sharedKind(shared: readonly StoredKind[]) {
  return sql`r.kind in (${sql.join(shared.map((name) => sql.lit(name)))})`
}

/** How many of the list are pending; of each part as above. */
export async function countInbox(db: Db, userId: string, shared: readonly StoredKind[]): Promise<number> {
  const isShared = sharedKind(shared)
  const isOpen = sql`r.closed is null and ${isPending('r')}`
  const result = await sql<{ pending: number }>`
    select (select count(*) from approval_requests r
        where r.user_id = ${userId} and not (${isShared}) and ${isOpen})
      + (select count(*) from workspace_members m join approval_requests r on r.workspace_id = m.workspace_id
        where m.user_id = ${userId} and ${isShared} and ${isOpen})
      + (select count(*) from activations a
        where a.seen_by = ${userId} and a.decided_by is null and ${isPending('a')}) as pending`.execute(db)
  return result.rows[0]?.pending ?? 0
}
