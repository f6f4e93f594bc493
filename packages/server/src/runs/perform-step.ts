import { AgentFailure, type AskParts, askAgent, findAgent } from '../agents/agents.ts'
import type { RunCaller } from '../engine/carrying.ts'
import {
  defaultRunLimits,
  type Failure,
  prepareToolInput,
  type StepCall,
  type StepOutcome,
} from '../graph/graph.ts'
import type { Actor } from '../operations/actor.ts'
import { isPassing } from '../platform/database.ts'
import { type Toolbox, ToolFailure } from '../tools/tools.ts'

/** For whom a step acts, and through what. */
type StepCaller = RunCaller & Actor

export interface PerformParts extends AskParts {
  readonly toolbox: Toolbox
}

const timeoutMs = 65 * 60_000
const messageLength = 2000

/** For steps that may last; what is done in place has limits of its own. */
export async function withTimeout(
  signal: AbortSignal,
  perform: (signal: AbortSignal) => Promise<StepOutcome>,
): Promise<StepOutcome> {
  const timeout = new AbortController()
  const message = `The step took over ${timeoutMs / 60_000} minutes.`
  let timer: NodeJS.Timeout | undefined
  const timedOut = new Promise<StepOutcome>((resolve) => {
    timer = setTimeout(() => {
      resolve(failed({ code: 'STEP_TIMEOUT', message }))
      timeout.abort()
    }, timeoutMs)
  })
  try {
    return await Promise.race([perform(AbortSignal.any([signal, timeout.signal])), timedOut])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * One attempt of one step. Whatever goes wrong in it is its outcome; only a fault of ours is thrown, and then the engine
 * tries again.
 */
export async function performStep(
  parts: PerformParts,
  caller: StepCaller,
  call: StepCall,
  signal: AbortSignal,
): Promise<StepOutcome> {
  try {
    return call.target.kind === 'tool'
      ? await useTool(parts.toolbox, caller, call, call.target.toolId, signal)
      : await useAgent(parts, caller, call, call.target, signal)
  } catch (error) {
    if (signal.aborted) return { kind: 'canceled', at: Date.now() }
    if (isPassing(error)) throw error
    return failed(asFailure(error, call.target.kind === 'tool' ? 'TOOL_FAILED' : 'AGENT_FAILED'))
  }
}

async function useTool(
  toolbox: Toolbox,
  caller: StepCaller,
  call: StepCall,
  toolId: string,
  signal: AbortSignal,
): Promise<StepOutcome> {
  const tool = toolbox.find(toolId)
  if (!tool) return failed({ code: 'REFERENCE_GONE', message: `There is no tool "${toolId}" any more.` })
  const { input, issues } = prepareToolInput(tool.inputSchema, call.input)
  const [first] = issues
  if (first) {
    const message = `The input${first.path === '' ? '' : ` at ${first.path}`} ${first.message}.`
    return failed({ code: 'STEP_INPUT_INVALID', message, details: { issues } })
  }
  const { runId, stepId, idempotencyKey, answer } = call
  const result = await tool.run(input, {
    ...caller,
    runId,
    stepId,
    idempotencyKey,
    signal,
    ...(answer && { answer }),
  })
  return result.kind === 'output' ? succeeded(result.output) : asked(result.payload)
}

async function useAgent(
  parts: PerformParts,
  caller: StepCaller,
  call: StepCall,
  target: Extract<StepCall['target'], { kind: 'agent' }>,
  signal: AbortSignal,
): Promise<StepOutcome> {
  const agent = await findAgent(parts.database.db, caller.workspaceId, target.slug)
  if (!agent)
    return failed({ code: 'REFERENCE_GONE', message: `There is no agent "${target.slug}" any more.` })
  const { prompt } = call.input as { prompt: string }
  const { outputSchema } = target
  const { idempotencyKey } = call
  return succeeded(
    await askAgent(parts, agent, {
      prompt,
      ...(outputSchema && { outputSchema }),
      ...caller,
      idempotencyKey,
      signal,
    }),
  )
}

/** What the engine keeps of an output is bounded here, whatever a run's own limits are. */
export function succeeded(output: unknown): StepOutcome {
  const text = JSON.stringify(output) ?? 'null'
  const most = defaultRunLimits.stepOutputBytes
  if (Buffer.byteLength(text) > most)
    return failed({ code: 'STEP_OUTPUT_TOO_LARGE', message: `The output is over ${most} bytes.` })
  return { kind: 'success', output: JSON.parse(text), at: Date.now() }
}

function asked(payload: unknown): StepOutcome {
  return { kind: 'suspended', payload: JSON.parse(JSON.stringify(payload) ?? 'null'), at: Date.now() }
}

export function failed(error: Failure): StepOutcome {
  return { kind: 'failed', error, at: Date.now() }
}

/** Tools and agents may name a code and details; any other error is told by its message alone. */
function asFailure(error: unknown, code: 'TOOL_FAILED' | 'AGENT_FAILED'): Failure {
  const { message } = error instanceof Error ? error : new Error(String(error))
  const named: Partial<AgentFailure | ToolFailure> =
    error instanceof ToolFailure || error instanceof AgentFailure ? error : {}
  return {
    code: named.code ?? code,
    message: message.slice(0, messageLength),
    ...(named.details && { details: named.details }),
  }
}
