import type { ActivityType } from '@guildhall/contract'
import type { Principal, StartedThrough } from '../operations/principal.ts'
import type { Db } from '../platform/database.ts'
import * as store from './store.ts'

/** Who did it: a credential, nobody we know, or whoever runs this deployment. */
export type Actor = Pick<Principal, 'kind' | 'credentialId' | 'userId'> | 'anonymous' | 'operator'

interface Entry {
  readonly type: ActivityType
  readonly workspaceId: string | null
  readonly details?: Readonly<Record<string, unknown>>
}

/**
 * Adds a line to the audit log. Call it in the transaction of what it tells, so that neither exists without the
 * other. Details are for people: names and numbers, never a secret.
 */
export async function recordActivity(db: Db, actor: Actor, entry: Entry): Promise<void> {
  const isNamed = typeof actor !== 'string'
  await store.insertActivity(db, {
    workspace_id: entry.workspaceId,
    user_id: isNamed ? actor.userId : null,
    api_key_id: isNamed && actor.kind === 'key' ? actor.credentialId : null,
    actor_kind: isNamed ? actor.kind : actor,
    type: entry.type,
    details: JSON.stringify(entry.details ?? {}),
  })
}

/** Who acts by what was started earlier; of a session nothing but the person is kept. */
export function actorBehind(userId: string, { apiKeyId, oauthGrantId }: StartedThrough): Actor {
  if (apiKeyId !== null) return { kind: 'key', credentialId: apiKeyId, userId }
  if (oauthGrantId !== null) return { kind: 'oauth', credentialId: oauthGrantId, userId }
  return { kind: 'session', credentialId: 0, userId }
}
