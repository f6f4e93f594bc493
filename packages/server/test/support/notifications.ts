import { tellThread } from '#running/notifications/notifications.ts'
import type { House } from './house.ts'

/** Something that happened and that a thread was told of. */
export async function newNotification(
  { deps, bus }: House,
  workspaceId: string,
  threadId: string,
): Promise<string> {
  const { id } = await deps.database.db
    .selectFrom('threads')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('thread_id', '=', threadId)
    .executeTakeFirstOrThrow()
  const told = await tellThread({ ...deps, bus }, id, {
    kind: 'workflow.completed',
    source: 'workflow',
    priority: 'medium',
    summary: 'Done.',
    payload: {},
    dedupeKey: `${threadId}:once`,
  })
  return told?.id ?? ''
}
