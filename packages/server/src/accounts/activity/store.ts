import type { ActivityType } from '@guildhall/contract'
import type { Insertable } from 'kysely'
import type { Db } from '#platform/database.ts'
import type { Tables } from '#platform/tables.ts'

export async function insertActivity(db: Db, row: Insertable<Tables['activity']>): Promise<void> {
  await db.insertInto('activity').values(row).execute()
}

export interface ActivityFilter {
  type?: ActivityType | undefined
  userId?: string | undefined
  apiKeyId?: number | undefined
  since?: string | undefined
  until?: string | undefined
}

/** Newest first; `before` is the id of the last row of the page before. */
export async function listActivity(
  db: Db,
  workspaceId: string,
  filter: ActivityFilter,
  page: { limit: number; before: number | undefined },
) {
  let query = db
    .selectFrom('activity')
    .leftJoin('workspaces', 'workspaces.id', 'activity.workspace_id')
    .select([
      'activity.id',
      'activity.type',
      'activity.at',
      'activity.actor_kind',
      'activity.user_id',
      'activity.api_key_id',
      'activity.workspace_id',
      'workspaces.name as workspace_name',
      'activity.details',
    ])
    .where('activity.workspace_id', '=', workspaceId)
    .orderBy('activity.id', 'desc')
    .limit(page.limit)
  if (page.before !== undefined) query = query.where('activity.id', '<', page.before)
  if (filter.type !== undefined) query = query.where('activity.type', '=', filter.type)
  if (filter.userId !== undefined) query = query.where('activity.user_id', '=', filter.userId)
  if (filter.apiKeyId !== undefined) query = query.where('activity.api_key_id', '=', filter.apiKeyId)
  if (filter.since !== undefined) query = query.where('activity.at', '>=', filter.since)
  if (filter.until !== undefined) query = query.where('activity.at', '<', filter.until)
  return query.execute()
}
