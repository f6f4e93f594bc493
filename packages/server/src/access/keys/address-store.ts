import { touchedDays } from '@guildhall/contract'
import { sql } from 'kysely'
import { secondsAgo } from '#platform/clock.ts'
import type { Db } from '#platform/database.ts'

const mostAddresses = 100

/** When and from where a key was used: at most one write of each a minute, whichever processes see it. */
export async function noteKeyUse(db: Db, keyId: number, address: string, network: string): Promise<void> {
  await sql`
    with used as (
      update api_keys set last_used_at = guild_moment(), last_used_ip = ${address}
      where id = ${keyId} and coalesce(last_used_at < guild_now() - interval '1 minute', true))
    insert into key_addresses (key_id, network)
    select id, ${network} from api_keys where id = ${keyId}
    on conflict (key_id, network) do update set last_at = guild_moment()
      where key_addresses.last_at < guild_now() - interval '1 minute'`.execute(db)
}

/** The last one first. */
export async function listAddresses(db: Db, keyId: number, since: string) {
  const rows = await db
    .selectFrom('key_addresses')
    .select(['network', 'first_at', 'last_at'])
    .where('key_id', '=', keyId)
    .where('last_at', '>=', since)
    .orderBy('last_at', 'desc')
    .orderBy('network')
    .limit(mostAddresses)
    .execute()
  return rows.map(({ network: ip, first_at: firstAt, last_at: lastAt }) => ({ ip, firstAt, lastAt }))
}

export async function deleteOldAddresses(db: Db): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('key_addresses')
    .where('last_at', '<', secondsAgo(touchedDays.most * 24 * 3600))
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** A key of this person's that exists or was revoked, and the time that is looked at. */
export async function findTouchable(
  db: Db,
  { userId, keyId, since }: { userId: string; keyId: number; since: string | undefined },
) {
  const daysAgo = (days: number) => secondsAgo(days * 24 * 3600)
  return db
    .selectFrom('api_keys')
    .innerJoin('workspace_members', (join) =>
      join
        .onRef('workspace_members.workspace_id', '=', 'api_keys.workspace_id')
        .onRef('workspace_members.user_id', '=', 'api_keys.user_id'),
    )
    .select([
      'api_keys.workspace_id as workspaceId',
      'label',
      'revoked_at as revokedAt',
      'scopes',
      'approvals',
      sql<string>`guild_now()::timestamptz(3)`.as('until'),
      sql<string>`greatest(coalesce(${since ?? null}::timestamptz, ${daysAgo(touchedDays.usual)}),
        ${daysAgo(touchedDays.most)})::timestamptz(3)`.as('since'),
    ])
    .where('api_keys.id', '=', keyId)
    .where('api_keys.user_id', '=', userId)
    .executeTakeFirst()
}
