import type { OpenRun, RunCaller, RunRecords, StepWork } from '#machinery/engine/drive.ts'
import {
  accessEnded,
  defaultRunLimits,
  hasRunEnded,
  type RequestContext,
  type Reuse,
  type RunLimits,
  type StepCall,
} from '#machinery/graph/graph.ts'
import { executeSkillTool } from '#machinery/tools/tools.ts'
import { interruptExecution } from '#running/executions/executions.ts'
import { RunAccess } from './access.ts'
import { collectAgent, performAgent } from './agent-step.ts'
import { announceRun, runChannel } from './announce.ts'
import * as driveStore from './drive-store.ts'
import { OpenedAgain } from './opened-again.ts'
import { performTool, withTimeout } from './perform-step.ts'
import { handOver } from './queue.ts'
import { RunOpener } from './run-opener.ts'
import type { DriveParts } from './run-parts.ts'
import { type RunWrite, RunWriter } from './run-writer.ts'
import { settleQuestions } from './settle-questions.ts'
import { beginSkill, collectSkill } from './skill-step.ts'
import * as store from './store.ts'

/** What a worker does for the engine when it drives runs. */
export function createRunRecords(parts: DriveParts): RunRecords {
  const { database, toolbox } = parts
  const { db } = database
  const opener = new RunOpener(database)
  const access = new RunAccess(database)
  const writer = new RunWriter(database)
  const { loopIterations, foreachItems } = parts.config
  const limits = { ...defaultRunLimits, loopIterations, foreachItems }

  const writeStatus = async (write: RunWrite) => {
    const row = await writer.write(write)
    if (!row) return undefined
    announceRun(parts, row)
    if (row.frees) void handOver(parts, row.workspace_id)
    return row
  }

  /** A launch may be committed after its key was revoked, and everything that the key ran was stopped. */
  const hasLostAccess = async ({ run_id: runId, opened, api_key_id }: driveStore.OpenedRow) => {
    const admitted = api_key_id === null ? undefined : await access.admit(runId)
    if (!admitted || !('refusal' in admitted) || admitted.refusal.kind !== 'failed') return false
    const error = { name: 'WorkflowError', ...accessEnded }
    await writeStatus({ runId, opened, advancing: false, steps: [], status: 'failed', error })
    return true
  }

  return {
    open: async (runId, invocationId) => {
      const row = await opener.open(runId, invocationId)
      if (!row || row.status === 'void') return undefined
      if (row.opened === 1 && (await hasLostAccess(row))) return undefined
      const workflow = await parts.definitions.find(row)
      if (workflow) return { workflow, ...describe(row, limits) }
      const message = 'The definition cannot be read any more; install the workflow again and launch it.'
      const error = { name: 'WorkflowError', code: 'REFERENCE_GONE', message }
      const { opened } = row
      await writeStatus({ runId, opened, advancing: false, steps: [], status: 'failed', error })
      return undefined
    },
    isQuick: ({ target }) => target.kind === 'tool' && (toolbox.find(target.toolId)?.quick ?? true),
    perform: async (caller, call, signal) => {
      const admitted = await access.admit(call.runId)
      if ('refusal' in admitted) return admitted.refusal
      const { target } = call
      // Only tools are quick; the rest are calls of their own.
      if (target.kind !== 'tool') throw new Error('An agent cannot be asked in place')
      return performTool(parts, { ...caller, ...admitted }, call, target, signal)
    },
    write: async (opening, steps, pace) => {
      const row = await writer.write({ ...opening, steps, advancing: pace === 'advancing' })
      if (!row) return
      parts.bus.wake(runChannel(opening.runId))
      if (row.frees) void handOver(parts, row.workspace_id)
    },
    wake: async ({ runId, opened }, { workspaceId }, key) => {
      const admitted = await access.admit(runId)
      if ('refusal' in admitted && admitted.refusal.kind === 'failed') return 'refused'
      const run = { run_id: runId, workspace_id: workspaceId, opened }
      const woken = await driveStore.claimWake(database, run, key, parts.config.runsPerWorkspace)
      if (woken) return woken.advancing
      const row = await store.findRunById(db, runId)
      if (row) OpenedAgain.refuse(row, opened)
      return row?.resume_id !== key || row.advancing
    },
    pause: async (opening, steps, pause) => {
      await writeStatus({ ...opening, steps, pause, advancing: false, status: 'suspended' })
      await settleQuestions(parts, opening.runId)
    },
    takeAnswer: async (runId, resumeId) => (await driveStore.claimAnswer(db, runId, resumeId)) !== undefined,
    readAnswer: async (runId, resumeId) => {
      const row = await store.findRunById(db, runId)
      const isIt = row?.resume_id === resumeId
      // Of a run that is gone meanwhile, nothing will come any more.
      return { data: isIt ? row.resume_data : null, at: Date.parse(row?.resumed_at ?? '') || Date.now() }
    },
    close: async (opening, steps, { status, ...end }) => {
      const result = 'result' in end ? { result: end.result } : {}
      const error = 'error' in end ? { error: end.error } : {}
      const row = await writeStatus({ ...opening, steps, advancing: false, status, ...result, ...error })
      if (!row) await driveStore.updateLeft(db, opening.runId, opening.opened)
      // A step beside one that failed may still have waited for somebody.
      else if (row.asked > 0) await settleQuestions(parts, opening.runId)
    },
  }
}

/** What a worker does for the engine when a step is a call of its own. */
export function createStepWork(parts: DriveParts): StepWork {
  const access = new RunAccess(parts.database)
  return {
    isSkill: ({ target }) => target.kind === 'tool' && target.toolId === executeSkillTool,
    perform: async (caller, call, awakeableId, signal) => {
      const admitted = await access.admit(call.runId)
      if ('refusal' in admitted) return admitted.refusal
      const { target } = call
      const actor = { ...caller, ...admitted }
      if (target.kind === 'agent') return performAgent(parts, actor, call, target, awakeableId, signal)
      return withTimeout(signal, (both) => performTool(parts, actor, call, target, both))
    },
    interruptAgent: (agentRunId) => parts.agentRuns.interrupt(agentRunId),
    collectAgent: (call, agentRunId) => collectAgent(parts, call, agentRunId),
    beginSkill: (caller: RunCaller, call: StepCall, awakeableId) =>
      beginSkill(parts, caller, call, awakeableId),
    interruptSkill: (executionId) => interruptExecution(parts, executionId),
    collectSkill: (executionId) => collectSkill(parts, executionId),
  }
}

function describe(row: driveStore.OpenedRow, limits: RunLimits): Omit<OpenRun, 'workflow'> {
  const { run_id: runId, workspace_id: workspaceId, user_id: userId, api_key_id: apiKeyId, reuse } = row
  const requestContext: RequestContext = {
    workspaceId,
    userId,
    runId,
    workflowId: row.workflow_id,
    definitionId: row.definition_id,
    workflowSlug: row.workflow_slug,
    apiKeyId: apiKeyId === null ? null : String(apiKeyId),
    agentSlug: null,
    conversationId: row.conversation_id,
    source: row.source,
    launchedAt: row.launched_at,
  }
  const launchedAt = Date.parse(row.launched_at)
  return {
    opening: { runId, opened: row.opened },
    launch: { runId, inputs: row.inputs, launchedAt, requestContext, limits },
    ...(reuse !== null && { reuse: reuse as Reuse }),
    caller: { workspaceId, userId, apiKeyId },
    isOver: hasRunEnded(row.status),
  }
}
