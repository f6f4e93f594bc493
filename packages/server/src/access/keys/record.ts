import type { ActivityType } from '@guildhall/contract'
import { type Author, recordActivity } from '#accounts/activity/activity.ts'
import type { Tx } from '#platform/database.ts'

/** The line in the log of what happened to a key. */
export async function recordKey(
  tx: Tx,
  author: Author,
  type: Extract<ActivityType, `key.${string}`>,
  key: { id: number; label: string; workspace_id: string },
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await recordActivity(tx, author, {
    type,
    workspaceId: key.workspace_id,
    details: { keyId: key.id, label: key.label, ...more },
  })
}
