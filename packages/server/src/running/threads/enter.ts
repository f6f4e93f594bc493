import { randomUUID } from 'node:crypto'
import { type ChangeKind, threadLimits } from '@guildhall/contract'
import { ApiError } from '#operations/errors.ts'
import type { Principal } from '#operations/principal.ts'
import { noteChange } from '#platform/changes.ts'
import type { Db, Tx } from '#platform/database.ts'
import * as store from './store.ts'

/** Who writes, and through what. */
export type Sender = Pick<Principal, 'kind' | 'credentialId' | 'workspaceId' | 'userId' | 'apiKeyId'>

/** The thread of that id, locked; made when this is its first use. Somebody else's private one is none. */
export async function enterThread(
  tx: Tx,
  principal: Sender,
  threadId: string,
  agentSlug: string,
  as: Partial<Pick<store.ThreadRow, 'visibility' | 'kind'>> = {},
): Promise<store.ThreadRow> {
  const { workspaceId, userId, apiKeyId } = principal
  for (;;) {
    const known = await store.lockThreadNamed(tx, workspaceId, threadId)
    if (known) {
      if (!isVisible(known, principal)) throw new ApiError('NOT_FOUND')
      return known
    }
    await requireThreadRoom(tx, workspaceId)
    const made = await store.insertThread(tx, {
      workspace_id: workspaceId,
      thread_id: threadId,
      agent_slug: agentSlug,
      user_id: userId,
      api_key_id: apiKeyId,
      trace_id: `trace_${randomUUID()}`,
      visibility: as.visibility ?? 'workspace',
      kind: as.kind ?? 'chat',
    })
    // Otherwise somebody was faster, and theirs is there by now.
    if (made) return made
  }
}

export async function requireThreadRoom(tx: Tx, workspaceId: string): Promise<void> {
  const limit = threadLimits.perWorkspace
  if ((await store.countThreads(tx, workspaceId, limit)) < limit) return
  throw new ApiError('INVALID_INPUT', {
    message: `A workspace has at most ${limit} threads; delete some first`,
    details: { limit },
  })
}

export function isVisible(
  thread: Pick<store.ThreadRow, 'visibility' | 'user_id'>,
  { kind, userId }: Pick<Principal, 'kind' | 'userId'>,
): boolean {
  return thread.visibility === 'workspace' || (kind === 'session' && thread.user_id === userId)
}

/** That something about it reads differently now: of a private one nobody hears but whose it is, of a step's nobody. */
export function noteThread(
  tx: Tx,
  thread: Pick<store.ThreadRow, 'kind' | 'visibility' | 'workspace_id' | 'user_id'>,
  kinds: readonly ChangeKind[],
): void {
  const { kind, visibility, workspace_id: workspaceId, user_id: userId } = thread
  if (kind === 'chat') noteChange(tx, { kinds, userId, ...(visibility === 'workspace' && { workspaceId }) })
}

/** The thread of that id, unless it is somebody else's private one. */
export async function findVisible(
  db: Db,
  principal: Principal,
  threadId: string,
): Promise<store.ThreadRow | undefined> {
  const thread = await store.findThread(db, principal.workspaceId, threadId)
  return thread && isVisible(thread, principal) ? thread : undefined
}

export async function requireThread(
  db: Db,
  principal: Principal,
  threadId: string,
): Promise<store.ThreadRow> {
  const thread = await findVisible(db, principal, threadId)
  if (!thread) throw new ApiError('NOT_FOUND')
  return thread
}
