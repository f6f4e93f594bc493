import type { NotificationSettings } from '@guildhall/contract'
import { sql } from 'kysely'
import type { Db, Tx } from '#platform/database.ts'

/** Undefined for whoever has changed nothing. Agents whose silence is over are not named any more. */
export async function findSettings(db: Db, userId: string): Promise<NotificationSettings | undefined> {
  const { rows } = await sql<NotificationSettings>`
    select approvals, questions, budget, quiet, digest,
      coalesce((select jsonb_agg(x) from jsonb_array_elements(muted) x
        where (x ->> 'until')::timestamptz > guild_now()), '[]') as muted
    from notification_settings where user_id = ${userId}`.execute(db)
  return rows[0]
}

/** Whoever is quiet no longer, or until another time, hears of what came meanwhile at that time. */
export async function updateSettings(tx: Tx, userId: string, settings: NotificationSettings): Promise<void> {
  const { approvals, questions, budget, quiet, digest, muted } = settings
  const row = {
    approvals,
    questions,
    budget,
    quiet: quiet && JSON.stringify(quiet),
    digest: digest && JSON.stringify(digest),
    muted: JSON.stringify(muted),
  }
  await tx
    .insertInto('notification_settings')
    .values({ user_id: userId, ...row })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet(row))
    .execute()
  await sql`
    with told as (
      select m.id, coalesce(quiet_until(${row.quiet}::jsonb, ${row.digest}::jsonb, guild_now()), guild_now()) as due_at
      from push_messages m join push_subscriptions s on s.id = m.subscription_id
      where s.user_id = ${userId} and m.kind = 'digest' and m.sent_at is null and m.due_at > guild_now())
    update push_messages m set due_at = told.due_at, expires_at = told.due_at + interval '12 hours'
    from told where m.id = told.id`.execute(tx)
}

/** Of those that PostgreSQL knows, by their full names. */
export async function listUnknownZones(tx: Tx, zones: readonly string[]): Promise<string[]> {
  if (zones.length === 0) return []
  const { rows } = await sql<{ zone: string }>`
    select zone from unnest(${[...zones]}::text[]) as given (zone)
    where not exists (select from pg_timezone_names n where n.name = given.zone)`.execute(tx)
  return rows.map(({ zone }) => zone)
}
