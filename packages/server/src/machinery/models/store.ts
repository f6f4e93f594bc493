import type { ModelProvider } from '@guildhall/contract'
import type { Insertable } from 'kysely'
import { thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Tables } from '#platform/tables.ts'

const listed = ['provider', 'base_url', 'hint', 'created_at'] as const

export type StoredKeyRow = Awaited<ReturnType<typeof listKeys>>[number]

export async function listKeys(db: Db, userId: string) {
  return db
    .selectFrom('provider_keys')
    .select(listed)
    .where('user_id', '=', userId)
    .orderBy('provider')
    .execute()
}

/** Of people in byokmode only: a key that was stored before a change of mode rests until they come back. */
export async function findUsableKey(db: Db, userId: string, provider: ModelProvider) {
  return db
    .selectFrom('provider_keys')
    .innerJoin('users', 'users.id', 'provider_keys.user_id')
    .select(['base_url', 'key_version', 'sealed'])
    .where('user_id', '=', userId)
    .where('provider', '=', provider)
    .where('users.mode', '=', 'byokmode')
    .executeTakeFirst()
}

export async function findBringsKeys(db: Db, userId: string): Promise<boolean> {
  const row = await db
    .selectFrom('users')
    .select('id')
    .where('id', '=', userId)
    .where('mode', '=', 'byokmode')
    .executeTakeFirst()
  return row !== undefined
}

/** A new key takes the place of the one before. */
export async function insertKey(tx: Tx, row: Insertable<Tables['provider_keys']>) {
  const { base_url, hint, key_version, sealed } = row
  return tx
    .insertInto('provider_keys')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'provider'])
        .doUpdateSet({ base_url, hint, key_version, sealed, created_at: thisMoment }),
    )
    .returning(listed)
    .executeTakeFirstOrThrow()
}

export async function deleteKey(tx: Tx, userId: string, provider: ModelProvider) {
  return tx
    .deleteFrom('provider_keys')
    .where('user_id', '=', userId)
    .where('provider', '=', provider)
    .returning('provider')
    .executeTakeFirst()
}
