import type { Db } from '#platform/database.ts'
import type { Person } from '../../../../test/support/caller.ts'

/** Puts somebody out of their workspace and lets them in again, as the database sees it. */
export async function rejoin(db: Db, { userId: user_id, workspaceId: workspace_id }: Person): Promise<void> {
  const { role } = await db
    .deleteFrom('workspace_members')
    .where('user_id', '=', user_id)
    .where('workspace_id', '=', workspace_id)
    .returning('role')
    .executeTakeFirstOrThrow()
  await db.insertInto('workspace_members').values({ user_id, workspace_id, role }).execute()
}
