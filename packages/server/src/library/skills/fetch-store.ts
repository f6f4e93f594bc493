import { now, secondsFromNow } from '#platform/clock.ts'
import type { Db } from '#platform/database.ts'

/** Says that a skill is being fetched, until the given time at the latest. */
export async function insertFetch(
  db: Db,
  workspaceId: string,
  slug: string,
  seconds: number,
): Promise<number> {
  const { id } = await db
    .insertInto('skill_fetches')
    .values({ workspace_id: workspaceId, slug, until: secondsFromNow(seconds) })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

export async function findFetch(db: Db, workspaceId: string, slug: string) {
  return db
    .selectFrom('skill_fetches')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('slug', '=', slug)
    .where('until', '>', now)
    .limit(1)
    .executeTakeFirst()
}

export async function deleteFetch(db: Db, id: number): Promise<void> {
  await db.deleteFrom('skill_fetches').where('id', '=', id).execute()
}

/** Of processes that died while they fetched. */
export async function deleteLapsedFetches(db: Db): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('skill_fetches').where('until', '<=', now).executeTakeFirst()
  return Number(numDeletedRows)
}
