import { sql } from 'kysely'
import type { Db, Tx } from '#platform/database.ts'
import type { Mode } from '#platform/tables.ts'
import { foldAddress } from './address.ts'

const columns = ['id', 'email', 'name', 'mode'] as const

export async function findUser(db: Db, userId: string) {
  return db.selectFrom('users').select(columns).where('id', '=', userId).executeTakeFirst()
}

export async function findUserByIdentity(db: Db, issuer: string, subject: string) {
  return db
    .selectFrom('user_identities')
    .innerJoin('users', 'users.id', 'user_identities.user_id')
    .select(['users.id', 'users.email', 'users.name', 'users.mode'])
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst()
}

/** The oldest account wins where several providers vouch for one address. */
export async function findUserByVerifiedEmail(db: Db, email: string) {
  return db
    .selectFrom('users')
    .select(columns)
    .where(sql`lower(email collate "C")`, '=', foldAddress(email))
    .where('email_verified', '=', true)
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst()
}

export async function insertUser(
  tx: Tx,
  user: { email: string | null; email_verified: boolean; name: string | null; mode: Mode },
) {
  return tx.insertInto('users').values(user).returning(columns).executeTakeFirstOrThrow()
}

/** Undefined when somebody else was first with this identity. */
export async function insertIdentity(tx: Tx, identity: { issuer: string; subject: string; user_id: string }) {
  return tx
    .insertInto('user_identities')
    .values(identity)
    .onConflict((conflict) => conflict.doNothing())
    .returning('user_id')
    .executeTakeFirst()
}

export async function updateUser(
  db: Db,
  userId: string,
  changes: { mode?: Mode; email?: string; name?: string | null },
) {
  return db.updateTable('users').set(changes).where('id', '=', userId).returning(columns).executeTakeFirst()
}

/** Serialises what must be counted per person: keys, workspaces, wrong codes. */
export async function lockUser(tx: Tx, userId: string): Promise<void> {
  await tx.selectFrom('users').select('id').where('id', '=', userId).forUpdate().execute()
}
