import { randomUUID } from 'node:crypto'
import { ApiError } from '#operations/errors.ts'
import type { Principal } from '#operations/principal.ts'
import type { Tx } from '#platform/database.ts'
import { titleOf } from './accept.ts'
import { noteThread, requireThreadRoom } from './enter.ts'
import * as store from './store.ts'

interface ThreadInput {
  readonly threadId: string | undefined
  readonly title: string | undefined
  readonly visibility: 'workspace' | 'private' | undefined
  readonly onNotification: 'record' | 'wake' | undefined
}

/**
 * Whether a thread's agent may be had to go on by itself: it then acts for who opened the thread, through what they opened
 * it with, and at their cost. So by them alone; an app stands for nobody who could answer for it.
 */
export function mayWake(
  { user_id, api_key_id }: Pick<store.ThreadRow, 'user_id' | 'api_key_id'>,
  { kind, userId, apiKeyId }: Pick<Principal, 'kind' | 'userId' | 'apiKeyId'>,
): boolean {
  if (user_id !== userId) return false
  return kind === 'session' || (kind === 'key' && apiKeyId === api_key_id)
}

export function notToBeWoken(): ApiError {
  return new ApiError('FORBIDDEN', {
    message:
      'To be woken costs credits of whoever opened the thread: only they set it, in the app or by the key that opened it',
  })
}

/** A thread before anything is said in it. */
export async function createThread(
  tx: Tx,
  principal: Principal,
  agentSlug: string,
  input: ThreadInput,
): Promise<store.ThreadRow> {
  const { workspaceId, userId, apiKeyId } = principal
  if (input.visibility === 'private' && principal.kind !== 'session') {
    throw new ApiError('FORBIDDEN', {
      message: 'A private thread is seen in the app alone: open it there, or leave visibility out',
    })
  }
  const opened = { user_id: userId, api_key_id: apiKeyId }
  if (input.onNotification === 'wake' && !mayWake(opened, principal)) throw notToBeWoken()
  await requireThreadRoom(tx, workspaceId)
  const made = await store.insertThread(tx, {
    workspace_id: workspaceId,
    thread_id: input.threadId ?? `thread_${randomUUID()}`,
    agent_slug: agentSlug,
    user_id: userId,
    api_key_id: apiKeyId,
    trace_id: `trace_${randomUUID()}`,
    title: titleOf(input.title ?? ''),
    visibility: input.visibility ?? 'workspace',
    on_notification: input.onNotification ?? 'record',
  })
  if (made) {
    noteThread(tx, made, ['threads'])
    return made
  }
  throw new ApiError('CONFLICT', { message: 'There is a thread of this id already; choose another' })
}
