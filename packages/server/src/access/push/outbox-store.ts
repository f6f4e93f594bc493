import { sql } from 'kysely'
import { secondsFromNow } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Tables } from '#platform/tables.ts'
import type { Recipient } from './seal.ts'

type StoredKind = Tables['approval_requests']['kind']

/** How long somebody is told of what has no deadline of its own, and how long what only follows up is of use. */
const withoutDeadline = sql.raw(`interval '7 days'`)
const followUp = sql.raw(`interval '12 hours'`)
/** Longer than one try takes: whoever took a message and died leaves it to others after this. */
const leaseSeconds = 30

/** What is to be told, oldest first, taken out in the transaction that shares it out. */
export async function claimWords(tx: Tx, limit: number) {
  const { rows } = await sql<Pick<Tables['push_words'], 'kind'> & { approvalId: string }>`
    delete from push_words where id in (
      select id from push_words order by id limit ${limit} for update skip locked)
    returning approval_id as "approvalId", kind`.execute(tx)
  return rows
}

export async function listAsked(tx: Tx, ids: readonly string[]) {
  return tx
    .selectFrom('approval_requests')
    .select(['id', 'kind', 'scopes', 'question'])
    .where('id', 'in', ids)
    .execute()
}

interface AskedWord {
  readonly id: string
  readonly setting: 'approvals' | 'questions' | 'budget'
  readonly sensitive: boolean
}

/**
 * One message for each browser of whoever may decide and wants to hear of it; who is quiet gets one about all that comes
 * meanwhile.
 */
export async function insertAsked(tx: Tx, words: readonly AskedWord[], shared: readonly StoredKind[]) {
  await sql`
    with wanted as materialized (
      select s.id as subscription_id, r.id as approval_id, r.expires_at,
        case when n.quiet -> 'except' ? r.kind then null
          else quiet_until(n.quiet, n.digest, guild_now()) end as held_until
      from unnest(${words.map(({ id }) => id)}::text[], ${words.map(({ setting }) => setting)}::text[],
          ${words.map(({ sensitive }) => sensitive)}::boolean[]) as w (id, setting, sensitive)
        join approval_requests r on r.id = w.id and r.status = 'pending' and r.closed is null
          and (r.expires_at is null or r.expires_at > guild_now())
        join workspace_members m on m.workspace_id = r.workspace_id
          and (r.kind = any (${[...shared]}::text[]) or m.user_id = r.user_id)
        join push_subscriptions s on s.user_id = m.user_id
        left join notification_settings n on n.user_id = m.user_id
      where case w.setting
          when 'questions' then coalesce(n.questions, true)
          when 'budget' then coalesce(n.budget, true)
          else coalesce(n.approvals, 'all') = 'all' or (n.approvals = 'sensitive' and w.sensitive) end
        and not exists (
          select from jsonb_to_recordset(n.muted) as x ("apiKeyId" bigint, until timestamptz)
          where x."apiKeyId" = r.key_id and x.until > guild_now())),
    told as (
      insert into push_messages (subscription_id, kind, approval_ids, expires_at)
      select subscription_id, 'asked', array[approval_id], coalesce(expires_at, guild_now() + ${withoutDeadline})
      from wanted where held_until is null)
    insert into push_messages (subscription_id, kind, approval_ids, due_at, expires_at)
    select subscription_id, 'digest', array_agg(approval_id), max(held_until), max(held_until) + ${followUp}
    from wanted where held_until is not null group by subscription_id
    on conflict (subscription_id, kind) where kind in ('digest', 'test') and sent_at is null
    do update set approval_ids = push_messages.approval_ids || excluded.approval_ids`.execute(tx)
}

/**
 * Whoever has not been told of these is not told any more, at the end of quiet hours either; whoever has been, or may have been by a try under way, is told
 * that they are over, after that try.
 */
export async function insertEnded(tx: Tx, ids: readonly string[]) {
  await sql`
    delete from push_messages
    where kind = 'asked' and attempts = 0 and approval_ids && ${[...ids]}::text[]`.execute(tx)
  await sql`
    update push_messages set approval_ids = array(
      select id from unnest(approval_ids) as kept (id) where id <> all (${[...ids]}::text[]))
    where kind = 'digest' and sent_at is null and approval_ids && ${[...ids]}::text[]`.execute(tx)
  await sql`
    insert into push_messages (subscription_id, kind, approval_ids, due_at, expires_at)
    select subscription_id, 'ended', approval_ids,
      case when bool_and(sent_at is not null) then guild_now() else max(due_at) end, guild_now() + ${followUp}
    from push_messages
    where kind = 'asked' and approval_ids && ${[...ids]}::text[]
    group by subscription_id, approval_ids`.execute(tx)
}

export interface ClaimedMessage extends Recipient {
  readonly id: number
  readonly kind: Tables['push_messages']['kind']
  readonly approvalIds: readonly string[]
  readonly attempts: number
  readonly leftSeconds: number
  readonly subscriptionId: string
  readonly endpoint: string
  readonly origin: string
  readonly vapidVersion: number
  readonly approvalKind: StoredKind | null
  readonly expiresAt: string | null
  /** Of a digest: how many of what came nobody has decided. */
  readonly waiting: number
  /** Whether it is still to be told, and its browser still one of somebody who may hear it. */
  readonly isLive: boolean
}

/**
 * What is due, for whoever asks to send it and nobody else for a while: the oldest of each person, then the next of each,
 * so that nobody waits for another's many. Not of services that have enough under way: one that hangs keeps no other
 * waiting.
 */
export async function claimMessages(
  db: Db,
  limit: number,
  busyOrigins: readonly string[],
): Promise<ClaimedMessage[]> {
  const { rows } = await sql<ClaimedMessage>`
    with due as materialized (
      select m.id, m.due_at, row_number() over (partition by s.user_id order by m.due_at, m.id) as turn
      from push_messages m join push_subscriptions s on s.id = m.subscription_id
      where m.sent_at is null and m.due_at <= guild_now() and s.origin <> all (${[...busyOrigins]}::text[])),
    picked as (
      select m.id from push_messages m join due on due.id = m.id
      where m.sent_at is null and m.due_at <= guild_now()
      order by due.turn, due.due_at limit ${limit} for update of m skip locked),
    taken as (
      update push_messages m set attempts = m.attempts + 1, due_at = ${secondsFromNow(leaseSeconds)}
      from picked where m.id = picked.id
      returning m.id, m.subscription_id, m.kind, m.approval_ids, m.attempts, m.expires_at)
    select t.id, t.kind, t.approval_ids as "approvalIds", t.attempts, s.id as "subscriptionId", s.endpoint, s.origin,
      s.p256dh, s.auth, s.vapid_version as "vapidVersion", r.kind as "approvalKind", r.expires_at as "expiresAt",
      greatest(0, extract(epoch from t.expires_at - guild_now()))::integer as "leftSeconds",
      d.waiting::integer as waiting,
      t.expires_at > guild_now() and x.expires_at > guild_now() and x.created_at > guild_now() - interval '180 days'
        and case t.kind
          when 'test' then true
          when 'reset' then true
          when 'digest' then d.waiting > 0
          when 'ended' then not d.open
          else d.open end as "isLive"
    from taken t
      join push_subscriptions s on s.id = t.subscription_id
      join sessions x on x.id = s.session_id
      left join approval_requests r on t.kind = 'asked' and r.id = t.approval_ids[1]
      cross join lateral (
        select count(*) as waiting,
          coalesce(bool_or(q.closed is null and (q.expires_at is null or q.expires_at > guild_now())), false) as open
        from approval_requests q
          join workspace_members m on m.workspace_id = q.workspace_id and m.user_id = s.user_id
        where q.id = any (t.approval_ids) and q.status = 'pending') d`.execute(db)
  return rows
}

/** A digest only if nothing has come since it was sent. */
export async function updateSent(db: Db, message: ClaimedMessage): Promise<void> {
  await sql`
    with told as (
      update push_messages set sent_at = guild_moment()
      where id = ${message.id} and approval_ids <@ ${[...message.approvalIds]}::text[])
    update push_subscriptions set delivered_at = guild_moment(), failures = 0, failing_since = null
    where id = ${message.subscriptionId}`.execute(db)
}

export async function updateLater(db: Db, id: number, seconds: number): Promise<void> {
  await db
    .updateTable('push_messages')
    .set({ due_at: secondsFromNow(seconds) })
    .where('id', '=', id)
    .execute()
}

export async function deleteMessage(db: Db, id: number): Promise<void> {
  await db.deleteFrom('push_messages').where('id', '=', id).execute()
}

/** Its service would refuse it again: nobody is told of this, and the person sees that this browser fails. */
export async function deleteRefused(db: Db, message: ClaimedMessage): Promise<void> {
  await sql`
    with refused as (delete from push_messages where id = ${message.id})
    update push_subscriptions set failures = failures + 1, failing_since = coalesce(failing_since, guild_moment())
    where id = ${message.subscriptionId}`.execute(db)
}

/** What nobody would be told any more. */
export async function deleteOver(db: Db): Promise<number> {
  const { numAffectedRows } = await sql`delete from push_messages where expires_at <= guild_now()`.execute(db)
  return Number(numAffectedRows ?? 0)
}
