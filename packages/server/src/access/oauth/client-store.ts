import { sql } from 'kysely'
import { secondsAgo, thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import { grantModel } from './grant-store.ts'

const clientColumns = ['id', 'name', 'redirect_uris', 'created_at'] as const

export interface ClientRow {
  id: string
  name: string
  redirect_uris: string[]
  public: boolean
  created_at: string
}

export async function listClients(db: Db, userId: string): Promise<ClientRow[]> {
  return db
    .selectFrom('oauth_clients')
    .select([...clientColumns, sql<boolean>`secret_hash is null`.as('public')])
    .where('user_id', '=', userId)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
}

export async function countClients(tx: Tx, userId: string): Promise<number> {
  const row = await tx
    .selectFrom('oauth_clients')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return row.count
}

export async function insertClient(
  tx: Tx,
  client: { id: string; user_id: string; name: string; redirect_uris: string[]; secret_hash: Buffer | null },
): Promise<ClientRow> {
  return tx
    .insertInto('oauth_clients')
    .values(client)
    .returning([...clientColumns, sql<boolean>`secret_hash is null`.as('public')])
    .executeTakeFirstOrThrow()
}

/** Everything issued to it goes with it. Undefined when the person has no such client. */
export async function deleteClient(tx: Tx, userId: string, clientId: string) {
  return tx
    .deleteFrom('oauth_clients')
    .where('user_id', '=', userId)
    .where('id', '=', clientId)
    .returning(['id', 'name'])
    .executeTakeFirst()
}

/** What people granted it; all that goes with it. */
export async function listGrantsOf(tx: Tx, clientId: string) {
  return tx
    .selectFrom('oauth_records')
    .select(['id', 'user_id'])
    .where('client_id', '=', clientId)
    .where('model', '=', grantModel)
    .execute()
}

/** An app as its document described it to whoever decided about it last. */
export async function upsertDocument(
  db: Db,
  client: { id: string; name: string; redirect_uris: string[] },
): Promise<void> {
  const { id, name, redirect_uris } = client
  await db
    .insertInto('oauth_clients')
    .values({ id, user_id: null, kind: 'document', name, redirect_uris, secret_hash: null })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet({ name, redirect_uris, decided_at: thisMoment }),
    )
    .execute()
}

/** An app that registered itself. */
export async function insertRegistered(
  db: Db,
  client: { id: string; name: string; redirect_uris: string[] },
): Promise<{ id: string; created_at: string }> {
  return db
    .insertInto('oauth_clients')
    .values({ ...client, user_id: null, kind: 'registered', secret_hash: null })
    .returning(['id', 'created_at'])
    .executeTakeFirstOrThrow()
}

/** What refers to an app: what it was granted, or that somebody is deciding about it. */
const isUsed = sql<boolean>`exists (select 1 from oauth_records r where r.client_id = oauth_clients.id)`
const day = 24 * 3600
/** So many that nobody uses are kept for one who comes back; whoever registers more than that takes the oldest away. */
const unusedRegistrations = 10_000

/** Those that nobody lets in any more, and nobody is deciding about. */
export async function deleteForgotten(db: Db): Promise<number> {
  await db
    .updateTable('oauth_clients')
    .set({ decided_at: thisMoment })
    .where('kind', '=', 'registered')
    .where('decided_at', '<', secondsAgo(day))
    .where(isUsed)
    .execute()
  const { numDeletedRows } = await db
    .deleteFrom('oauth_clients')
    .where((e) =>
      e.or([
        e.and([e('kind', '=', 'document'), e('decided_at', '<', secondsAgo(day))]),
        e.and([e('kind', '=', 'registered'), e('decided_at', '<', secondsAgo(30 * day))]),
        e(
          'id',
          'in',
          e
            .selectFrom('oauth_clients')
            .select('id')
            .where('kind', '=', 'registered')
            .orderBy('decided_at', 'desc')
            .offset(unusedRegistrations),
        ),
      ]),
    )
    .where(sql<boolean>`not ${isUsed}`)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** A client with the person who answers for it, where there is one. */
export async function findClient(db: Db, clientId: string) {
  return db
    .selectFrom('oauth_clients')
    .leftJoin('users', 'users.id', 'oauth_clients.user_id')
    .select([
      'oauth_clients.id',
      'oauth_clients.name',
      'kind',
      'redirect_uris',
      'secret_hash',
      // Who answers for it is who a provider vouches for: a name is of the person's own choice.
      sql<string | null>`case when users.email_verified then users.email end`.as('owner_email'),
    ])
    .where('oauth_clients.id', '=', clientId)
    .executeTakeFirst()
}
