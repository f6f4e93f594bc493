import type { Insertable } from 'kysely'
import { now, secondsFromNow, thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Tables } from '#platform/tables.ts'

export type PasskeyRow = Awaited<ReturnType<typeof listPasskeys>>[number]

const listed = ['id', 'name', 'transports', 'backed_up', 'created_at', 'last_used_at'] as const

/** Oldest first; a person has at most a few. */
export async function listPasskeys(db: Db, userId: string) {
  return db
    .selectFrom('passkeys')
    .select(listed)
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}

export async function findAnyPasskey(db: Db, userId: string) {
  return db.selectFrom('passkeys').select('id').where('user_id', '=', userId).limit(1).executeTakeFirst()
}

/** Held until the new counter is written: two assertions at once must not both compare with the old one. */
export async function lockPasskey(tx: Tx, userId: string, credentialId: string) {
  return tx
    .selectFrom('passkeys')
    .select(['id', 'public_key', 'counter'])
    .where('id', '=', credentialId)
    .where('user_id', '=', userId)
    .forUpdate()
    .executeTakeFirst()
}

/** Undefined when this credential is registered already, by whomever. */
export async function insertPasskey(tx: Tx, row: Insertable<Tables['passkeys']>) {
  return tx
    .insertInto('passkeys')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning(listed)
    .executeTakeFirst()
}

export async function updateUse(
  tx: Tx,
  credentialId: string,
  use: { counter: number; backed_up: boolean },
): Promise<void> {
  await tx
    .updateTable('passkeys')
    .set({ ...use, last_used_at: thisMoment })
    .where('id', '=', credentialId)
    .execute()
}

export async function deletePasskey(tx: Tx, userId: string, credentialId: string): Promise<void> {
  await tx.deleteFrom('passkeys').where('id', '=', credentialId).where('user_id', '=', userId).execute()
}

/** Those that were there then; gives how many. */
export async function deletePasskeysUpTo(tx: Tx, userId: string, moment: string): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('passkeys')
    .where('user_id', '=', userId)
    .where('created_at', '<=', moment as never)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

interface Challenge {
  challenge_hash: Buffer
  user_id: string
  purpose: string
  subject_hash: Buffer
}

export async function insertChallenge(db: Db, challenge: Challenge, lifetimeSeconds: number) {
  const { expires_at } = await db
    .insertInto('passkey_challenges')
    .values({ ...challenge, expires_at: secondsFromNow(lifetimeSeconds) as never })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return expires_at
}

/**
 * Uses a challenge up. Who comes second waits here for the first one's transaction, and finds the challenge only
 * when that was rolled back.
 */
export async function claimChallenge(tx: Tx, challenge: Challenge) {
  return tx
    .deleteFrom('passkey_challenges')
    .where('challenge_hash', '=', challenge.challenge_hash)
    .where('user_id', '=', challenge.user_id)
    .where('purpose', '=', challenge.purpose)
    .where('subject_hash', '=', challenge.subject_hash)
    .where('expires_at', '>', now)
    .returning('user_id')
    .executeTakeFirst()
}

export async function deletePasskeyLeftovers(db: Db): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('passkey_challenges')
    .where('expires_at', '<=', now)
    .executeTakeFirst()
  return Number(numDeletedRows)
}
