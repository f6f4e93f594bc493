import { hasRunEnded } from '#machinery/graph/graph.ts'
import { inNoSession } from '#operations/principal.ts'
import type { Tx } from '#platform/database.ts'
import { isTaken } from '#platform/database-errors.ts'
import { type AgentRuns, type AgentStep, findRunById } from '#running/runs/runs.ts'
import { type Accepted, accept } from './accept.ts'
import { follow, interruptRun, type ThreadParts } from './changes.ts'
import type { Sender } from './enter.ts'
import { findLastSaid } from './event-store.ts'
import { claimStepRun, findWorkflowRunId, listOpenOfWorkflowRun } from './step-run-store.ts'
import * as store from './store.ts'
import { toRunId } from './thread-log.ts'

/**
 * Agents of workflows that use tools: each attempt of a step is a run in a thread of its own, which nobody writes to and
 * no list shows. The step's key makes it one however often the step is tried; its end is told by an awakeable.
 */
export function agentRuns(parts: ThreadParts): AgentRuns {
  const { database } = parts
  return {
    begin: (step) => beginStepRun(parts, step),
    interrupt: async (id) => {
      const run = await store.findRunById(database.db, id)
      if (run) await interruptRun(parts, run)
    },
    interruptOfRun: async (runId) => {
      for (const run of await listOpenOfWorkflowRun(database.db, runId)) await interruptRun(parts, run)
    },
    read: async (id) => {
      const run = await store.findRunById(database.db, id)
      if (run?.status !== 'completed' && run?.status !== 'failed') return undefined
      const { status, stop_reason: stopReason, error_code: errorCode } = run
      const threadId = await store.findThreadName(database.db, run.thread_row_id)
      const said = (type: 'agent.message' | 'error') =>
        findLastSaid(database.db, run.thread_row_id, run.run_id, run.message_sequence, type)
      const { content = '' } = JSON.parse((await said('agent.message')) ?? '{}') as { content?: string }
      const why = JSON.parse((await said('error')) ?? '{}') as { message?: string; recovered?: boolean }
      return {
        status,
        stopReason,
        errorCode,
        message: why.recovered ? undefined : why.message,
        text: content,
        threadId: threadId ?? '',
        runId: toRunId(run.run_id),
      }
    },
  }
}

async function beginStepRun(parts: ThreadParts, given: AgentStep): Promise<number | undefined> {
  const { db } = parts.database
  // An engine that lost its disk tries the step anew, under another awakeable.
  const known = await claimStepRun(db, given.workspaceId, given.step)
  if (known) return known.id
  try {
    const accepted = await parts.database.transaction((tx) => acceptStep(tx, parts, given))
    if (accepted) follow(parts, accepted.change)
    return accepted?.run.id
  } catch (error) {
    // A worker that was given up and wakes up late tries it too; one of them begins it.
    const begun = isTaken(error) ? await claimStepRun(db, given.workspaceId, given.step) : undefined
    if (!begun) throw error
    return begun.id
  }
}

async function acceptStep(tx: Tx, { config }: ThreadParts, given: AgentStep): Promise<Accepted | undefined> {
  const { step, agent, prompt, outputSchema } = given
  const admitted = await given.admit(tx)
  if (!admitted) return undefined
  const { allowedOnce, authority } = admitted
  return accept(tx, config, {
    principal: senderOf(admitted),
    authority,
    agent,
    threadId: undefined,
    text: prompt,
    ifActive: 'queue',
    maxCost: undefined,
    model: undefined,
    authorSlug: null,
    step: { ...step, outputSchema, allowedOnce },
  })
}

/** Whether the run of the workflow that asked in this thread still goes on: a step may wait for what comes of it. */
export async function isAwaited(tx: Tx, threadRowId: number): Promise<boolean> {
  const workflowRunId = await findWorkflowRunId(tx, threadRowId)
  const run = workflowRunId === undefined ? undefined : await findRunById(tx, workflowRunId)
  return run !== undefined && !hasRunEnded(run.status)
}

/** A run that a person launched goes on when they have signed out, and so does what it asks agents. */
function senderOf(actor: NonNullable<Awaited<ReturnType<AgentStep['admit']>>>): Sender {
  const { workspaceId, userId, apiKeyId, oauthGrantId } = actor
  const whose = { workspaceId, userId, apiKeyId }
  if (apiKeyId !== null) return { ...whose, kind: 'key', credentialId: apiKeyId }
  if (oauthGrantId !== null) return { ...whose, kind: 'oauth', credentialId: oauthGrantId }
  return { ...whose, kind: 'session', credentialId: inNoSession }
}
