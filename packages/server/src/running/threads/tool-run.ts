import type { Toolset } from '#machinery/loop/loop.ts'
import type { ThreadParts } from './changes.ts'
import { costLimitOf } from './lifecycle.ts'
import type { Held, LogConversation } from './log-conversation.ts'
import { findCaused } from './store.ts'
import { fromRunId, toRunId } from './thread-log.ts'
import { createToolset, type ToolRun, type ToolsetParts } from './toolset/toolset.ts'
import type { Wait } from './wait-store.ts'

export type Pause = Omit<Wait, 'toolUseId'>

/** What a run may use, told by its agent, and kept of it in its row and its log. */
export type ToolsetOf = (
  agent: ToolRun['agent'],
  held: Held,
  conversation: LogConversation,
  signal: AbortSignal,
) => Toolset<Pause>

export function toolsetOf(parts: ThreadParts, tools: ToolsetParts): ToolsetOf {
  return (agent, held, conversation, signal) => {
    const { thread, run } = held
    const { wait_kind: kind, wait_ref: ref, wait_tool_use: toolUseId } = run
    const toolset = createToolset(tools, {
      runId: toRunId(run.run_id),
      threadId: thread.thread_id,
      workspaceId: run.workspace_id,
      userId: run.user_id,
      credential: { kind: run.credential_kind, id: run.credential_id },
      agent,
      tainted: () => conversation.isTainted,
      taint: () => conversation.taint(),
      remainingMilliDs: async () => {
        const { cost_milli_ds, delegated_milli_ds } = conversation.run
        return Math.max(0, costLimitOf(parts.config, conversation.run) - cost_milli_ds - delegated_milli_ds)
      },
      causedBy: (runId) => findCaused(parts.database.db, fromRunId(runId) ?? ''),
      depth: run.depth,
      signal,
      waited: kind === null || ref === null || toolUseId === null ? undefined : { kind, ref, toolUseId },
      begin: (id) => conversation.begin(id),
    })
    conversation.labelBy(toolset.labelOf)
    return {
      ...toolset,
      use: async (call) => {
        const used = await toolset.use(call)
        if ('pause' in used) return used
        conversation.noteCaused(call.id, used)
        return { output: used.output, isError: used.isError }
      },
    }
  }
}
