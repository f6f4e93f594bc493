import type { Principal } from '../http/principal.ts'
import type { Db } from '../platform/database.ts'
import * as store from './store.ts'

/** Who did it: a credential, or nobody we know. */
export type Actor = Pick<Principal, 'kind' | 'credentialId' | 'userId'> | 'anonymous'

/**
 * Adds a line to the audit log. Call it in the transaction of what it tells, so that neither exists without the
 * other. Details are for people: names and numbers, never a secret.
 */
export async function recordActivity(
  db: Db,
  actor: Actor,
  entry: { type: string; workspaceId: string | null; details?: Readonly<Record<string, unknown>> },
): Promise<void> {
  await store.insertActivity(db, {
    workspace_id: entry.workspaceId,
    user_id: actor === 'anonymous' ? null : actor.userId,
    api_key_id: actor !== 'anonymous' && actor.kind === 'key' ? actor.credentialId : null,
    actor_kind: actor === 'anonymous' ? 'anonymous' : actor.kind,
    type: entry.type,
    details: JSON.stringify(entry.details ?? {}),
  })
}
