import { messageBytes } from '@guildhall/contract'
import { type AgentFailure, type AgentRow, askAgent, findAgent } from '#library/agents/agents.ts'
import type { AgentBegun, RunCaller } from '#machinery/engine/drive.ts'
import { accessEnded, type StepCall, type StepOutcome } from '#machinery/graph/graph.ts'
import { valueIn } from '#machinery/loop/loop.ts'
import type { Actor } from '#operations/actor.ts'
import { ApiError } from '#operations/errors.ts'
import { isUnstorable } from '#platform/database-errors.ts'
import { attempt, failed, succeeded, unstorable, withTimeout } from './perform-step.ts'
import type { DriveParts, RunParts } from './run-parts.ts'
import { AccessEnded, admitStep } from './skill-step.ts'

type AgentTarget = Extract<StepCall['target'], { kind: 'agent' }>

/**
 * An agent that has nothing but words is asked here and now. One that uses tools may wait for people and for other
 * work, so it answers in a conversation of its own that outlives this call.
 */
export async function performAgent(
  parts: DriveParts,
  caller: RunCaller & Actor,
  call: StepCall,
  target: AgentTarget,
  awakeableId: string,
  signal: AbortSignal,
): Promise<StepOutcome | AgentBegun> {
  const agent = await findAgent(parts.database.db, caller.workspaceId, target.slug)
  if (!agent)
    return failed({ code: 'REFERENCE_GONE', message: `There is no agent "${target.slug}" any more.` })
  if (agent.tools.length > 0 || agent.skills.length > 0)
    return beginAgent(parts, caller, call, target, agent, awakeableId)
  return withTimeout(signal, (both) => askDirectly(parts, caller, call, target, agent, both))
}

function promptOf({ input }: StepCall): string {
  return (input as { prompt: string }).prompt
}

async function askDirectly(
  parts: DriveParts,
  caller: RunCaller & Actor,
  call: StepCall,
  { outputSchema }: AgentTarget,
  agent: AgentRow,
  signal: AbortSignal,
): Promise<StepOutcome> {
  const { idempotencyKey } = call
  return attempt(signal, 'AGENT_FAILED', async () =>
    succeeded(
      await askAgent(parts, agent, {
        prompt: promptOf(call),
        ...(outputSchema && { outputSchema }),
        ...caller,
        idempotencyKey,
        signal,
      }),
    ),
  )
}

async function beginAgent(
  parts: RunParts,
  { workspaceId, userId }: RunCaller,
  call: StepCall,
  { outputSchema }: AgentTarget,
  agent: AgentRow,
  awakeableId: string,
): Promise<StepOutcome | AgentBegun> {
  const prompt = promptOf(call)
  if (Buffer.byteLength(prompt) > messageBytes)
    return failed({ code: 'STEP_INPUT_INVALID', message: `The prompt is over ${messageBytes} bytes.` })
  try {
    const agentRunId = await parts.agentRuns.begin({
      workspaceId,
      userId,
      agent,
      prompt,
      outputSchema,
      step: { runId: call.runId, key: call.idempotencyKey, awakeableId },
      admit: async (tx) => {
        const admitted = await admitStep(tx, call.runId)
        return admitted && { ...admitted, workspaceId, userId }
      },
    })
    return agentRunId === undefined ? { kind: 'canceled', at: Date.now() } : { kind: 'begun', agentRunId }
  } catch (error) {
    if (error instanceof AccessEnded) return failed(accessEnded)
    if (isUnstorable(error)) return failed(unstorable)
    if (!(error instanceof ApiError)) throw error
    const { code: reason, message, details } = error
    return failed({ code: 'AGENT_FAILED', message, details: { reason, ...details } })
  }
}

/** What came of the conversation, once it has ended. */
export async function collectAgent(
  parts: RunParts,
  call: StepCall,
  agentRunId: number,
): Promise<StepOutcome> {
  const answer = await parts.agentRuns.read(agentRunId)
  if (!answer) return failed({ code: 'AGENT_FAILED', message: 'The conversation of the agent is gone.' })
  const { status, stopReason, errorCode, message, text, threadId, runId } = answer
  if (errorCode === accessEnded.code) return failed(accessEnded)
  if (status === 'completed') {
    const { outputSchema } = call.target as AgentTarget
    if (!outputSchema) return succeeded({ text })
    const read = valueIn(text, outputSchema)
    if ('value' in read) return succeeded(read.value)
  }
  const reason = errorCode ?? stopReason
  return failed({
    code: errorCode === misfitCode ? misfitCode : 'AGENT_FAILED',
    message: message ?? `The agent ended without an answer (${reason}).`,
    details: { reason, threadId, runId },
  })
}

const misfitCode: AgentFailure['code'] = 'AGENT_OUTPUT_INVALID'
