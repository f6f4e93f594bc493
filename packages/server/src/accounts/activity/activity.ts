import type { ActivityType } from '@guildhall/contract'
import type { Doer } from '#operations/actor.ts'
import type { Db } from '#platform/database.ts'
import * as store from './store.ts'

export { listTouchedThings } from './touched-store.ts'

/** Who did it: somebody, nobody we know, or whoever runs this deployment. */
export type Author = Doer | 'anonymous' | 'operator'

interface Entry {
  readonly type: ActivityType
  readonly workspaceId: string | null
  readonly details?: Readonly<Record<string, unknown>>
}

/**
 * Adds a line to the audit log. Call it in the transaction of what it tells, so that neither exists without the
 * other. Details are for people: names and numbers, never a secret.
 */
export async function recordActivity(db: Db, author: Author, entry: Entry): Promise<void> {
  const actor = typeof author === 'string' ? undefined : author
  await store.insertActivity(db, {
    workspace_id: entry.workspaceId,
    user_id: actor?.userId ?? null,
    api_key_id: actor?.apiKeyId ?? null,
    actor_kind: typeof author === 'string' ? author : kindOf(author),
    type: entry.type,
    details: JSON.stringify(entry.details ?? {}),
  })
}

function kindOf({ apiKeyId, oauthGrantId }: Doer): 'key' | 'oauth' | 'session' {
  if (apiKeyId !== null) return 'key'
  return oauthGrantId === null ? 'session' : 'oauth'
}
