import { findAgent } from '#library/agents/agents.ts'
import { ApiError } from '#operations/errors.ts'
import { accept } from './accept.ts'
import { follow, type ThreadParts } from './changes.ts'
import type { Sender } from './enter.ts'
import { actorOf } from './lifecycle.ts'
import * as store from './store.ts'

/** Without a person in between, and in any minute one. */
const mostWakes = 3
const pauseSeconds = 60

/**
 * Has the agent of an idle thread go on by itself, for the thread's owner and through the kind of credential that
 * they opened it with, if that still may. Gives whether it does. It is not repeated when a process dies: whatever the agent was
 * to hear of is in the log, and it reads that at its next run.
 */
export async function wakeThread(parts: ThreadParts, threadRowId: number, text: string): Promise<boolean> {
  const accepted = await parts.database
    .transaction(async (tx) => {
      const thread = await store.lockThread(tx, threadRowId)
      if (!thread || thread.active_run !== null || thread.wakes_since_person >= mostWakes) return undefined
      const spoke = await store.findWaking(tx, thread, pauseSeconds)
      if (!spoke || spoke.allowed_once || !(await store.mayAct(tx, spoke.id))) return undefined
      const agent = await findAgent(tx, thread.workspace_id, thread.agent_slug)
      if (!agent) return undefined
      const made = await accept(tx, parts.config, {
        principal: senderOf(spoke),
        authority: spoke.authority ?? [],
        agent,
        threadId: thread.thread_id,
        text,
        ifActive: 'reject',
        maxCost: undefined,
        model: undefined,
        authorSlug: null,
      })
      await store.updateWoken(tx, thread)
      return made
    })
    .catch((error) => {
      // Too few credits, or others wait their turn: nothing is said, and nothing has changed.
      if (error instanceof ApiError) return undefined
      throw error
    })
  if (accepted) follow(parts, accepted.change)
  return accepted !== undefined
}

function senderOf(run: store.RunRow): Sender {
  return { ...actorOf(run), kind: run.credential_kind, credentialId: run.credential_id }
}
