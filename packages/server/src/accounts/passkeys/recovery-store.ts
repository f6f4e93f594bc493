import { now, secondsFromNow } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'

export async function replaceInvite(tx: Tx, userId: string, codeHash: Buffer, lifetimeSeconds: number) {
  const row = { code_hash: codeHash, expires_at: secondsFromNow(lifetimeSeconds) as never }
  const { expires_at } = await tx
    .insertInto('passkey_invites')
    .values({ user_id: userId, ...row })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet(row))
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return expires_at
}

export async function deleteInvite(tx: Tx, userId: string): Promise<void> {
  await tx.deleteFrom('passkey_invites').where('user_id', '=', userId).execute()
}

/** Uses it up; undefined when there is no such invitation of this person that is still good. */
export async function claimInvite(tx: Tx, userId: string, codeHash: Buffer) {
  return tx
    .deleteFrom('passkey_invites')
    .where('user_id', '=', userId)
    .where('code_hash', '=', codeHash)
    .where('expires_at', '>', now)
    .returning('user_id')
    .executeTakeFirst()
}

export async function replaceRecoveryCodes(
  tx: Tx,
  userId: string,
  codeHashes: readonly Buffer[],
): Promise<void> {
  await deleteRecoveryCodes(tx, userId)
  const rows = codeHashes.map((code_hash) => ({ user_id: userId, code_hash }))
  await tx.insertInto('passkey_recovery_codes').values(rows).execute()
}

export async function claimRecoveryCode(tx: Tx, userId: string, codeHash: Buffer) {
  return tx
    .deleteFrom('passkey_recovery_codes')
    .where('user_id', '=', userId)
    .where('code_hash', '=', codeHash)
    .returning('user_id')
    .executeTakeFirst()
}

export async function countRecoveryCodes(db: Db, userId: string): Promise<number> {
  const { left } = await db
    .selectFrom('passkey_recovery_codes')
    .select(({ fn }) => fn.countAll<number>().as('left'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return left
}

export async function deleteRecoveryCodes(tx: Tx, userId: string): Promise<void> {
  await tx.deleteFrom('passkey_recovery_codes').where('user_id', '=', userId).execute()
}

export async function findReset(db: Db, userId: string) {
  return db
    .selectFrom('passkey_resets')
    .select(['asked_at', 'effective_at'])
    .where('user_id', '=', userId)
    .executeTakeFirst()
}

export async function insertReset(tx: Tx, userId: string, workspaceId: string, afterSeconds: number) {
  const { effective_at } = await tx
    .insertInto('passkey_resets')
    .values({
      user_id: userId,
      workspace_id: workspaceId,
      effective_at: secondsFromNow(afterSeconds) as never,
    })
    .returning('effective_at')
    .executeTakeFirstOrThrow()
  return effective_at
}

export async function deleteReset(tx: Tx, userId: string) {
  return tx.deleteFrom('passkey_resets').where('user_id', '=', userId).returning('user_id').executeTakeFirst()
}

/** Only one that is due: it may have been canceled since it was found. */
export async function claimDueReset(tx: Tx, userId: string) {
  return tx
    .deleteFrom('passkey_resets')
    .where('user_id', '=', userId)
    .where('effective_at', '<=', now)
    .returning(['workspace_id', 'asked_at'])
    .executeTakeFirst()
}

export async function listDueResets(db: Db, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('passkey_resets')
    .select('user_id')
    .where('effective_at', '<=', now)
    .orderBy('effective_at')
    .limit(limit)
    .execute()
  return rows.map(({ user_id }) => user_id)
}

export async function deleteOldInvites(db: Db): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('passkey_invites')
    .where('expires_at', '<=', now)
    .executeTakeFirst()
  return Number(numDeletedRows)
}
