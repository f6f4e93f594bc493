import { sql } from 'kysely'
import { thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'

export async function findProfile(db: Db, userId: string) {
  return db
    .selectFrom('users')
    .leftJoin('profiles', 'profiles.user_id', 'users.id')
    .select(['users.name', 'users.email', 'bio', 'timezone', 'facts', 'updated_at'])
    .where('users.id', '=', userId)
    .executeTakeFirst()
}

/** Makes the row if there is none, and holds it until the change is written. */
export async function lockFacts(tx: Tx, userId: string): Promise<Record<string, string>> {
  await tx
    .insertInto('profiles')
    .values({ user_id: userId, bio: null, timezone: null, facts: '{}' })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const row = await tx
    .selectFrom('profiles')
    .select('facts')
    .where('user_id', '=', userId)
    .forUpdate()
    .executeTakeFirstOrThrow()
  return row.facts
}

export async function updateProfile(
  tx: Tx,
  userId: string,
  changes: { bio?: string | null; timezone?: string | null; facts: Record<string, string> },
): Promise<void> {
  await tx
    .updateTable('profiles')
    .set({ ...changes, facts: JSON.stringify(changes.facts), updated_at: thisMoment })
    .where('user_id', '=', userId)
    .execute()
}

/** A person has at most a few hundred facts, so they are looked through as they are. */
export async function searchFacts(db: Db, userId: string, text: string) {
  const facts = sql<{ key: string; value: string }>`jsonb_each_text(profiles.facts)`.as<'fact'>(
    sql.ref('fact'),
  )
  const found = sql<boolean>`strpos(lower(fact.key || ' ' || fact.value), lower(${text})) > 0`
  return db
    .selectFrom('profiles')
    .innerJoin(facts, (join) => join.onTrue())
    .select(['fact.key as name', 'fact.value as text'])
    .where('profiles.user_id', '=', userId)
    .where(found)
    .orderBy('fact.key')
    .execute()
}
