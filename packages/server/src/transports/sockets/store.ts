import { secondsAgo } from '#platform/clock.ts'
import type { Db } from '#platform/database.ts'

/** Kept past their end: their expiry is told by the clocks of processes, which may differ from this one. */
const keptSeconds = 3600

/** Whoever comes first has it; undefined for everybody after. */
export async function claimAddress(db: Db, id: string, expiresAt: Date) {
  return db
    .insertInto('used_addresses')
    .values({ id, expires_at: expiresAt })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst()
}

export async function deleteUsedAddresses(db: Db): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('used_addresses')
    .where('expires_at', '<=', secondsAgo(keptSeconds))
    .executeTakeFirst()
  return Number(numDeletedRows)
}
