import type { Tx } from '#platform/database.ts'
import { deleteChatTrace } from '#running/traces/traces.ts'
import { noteThread } from './enter.ts'
import { lockAskedInPublic } from './list-store.ts'
import * as store from './store.ts'

/**
 * Takes from everybody but its owner what there is of a conversation beside its own row: its trace, and all that its
 * agents asked others, whoever wrote the message that had them ask. Threads are locked as they ask, the asking one first.
 * Gives the rows of all that is hidden.
 */
export async function hideThread(tx: Tx, thread: store.ThreadRow): Promise<number[]> {
  const hidden = [thread]
  for (;;) {
    const asked = await lockAskedInPublic(tx, thread.id)
    if (asked.length === 0) break
    for (const one of asked) {
      const kept = await store.updateThread(tx, one.id, { visibility: 'private', user_id: thread.user_id })
      // Whoever saw it hears that they see it no more, and whose it is that they do.
      for (const heard of [one, kept]) noteThread(tx, heard, ['threads', 'traces'])
    }
    hidden.push(...asked)
  }
  for (const { workspace_id, trace_id } of hidden) await deleteChatTrace(tx, workspace_id, trace_id)
  return hidden.map(({ id }) => id)
}
