import { AgentFailure } from '#library/agents/agents.ts'
import type { RunCaller } from '#machinery/engine/drive.ts'
import {
  defaultRunLimits,
  type Failure,
  prepareToolInput,
  type StepCall,
  type StepOutcome,
} from '#machinery/graph/graph.ts'
import { type Toolbox, ToolFailure } from '#machinery/tools/tools.ts'
import type { Actor } from '#operations/actor.ts'
import { isPassing, isUnstorable } from '#platform/database-errors.ts'

/** For whom a step acts, and through what. */
type StepCaller = RunCaller & Actor

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
 * One attempt of something that a step does. Whatever goes wrong in it is its outcome; only a fault of ours is thrown,
 * and then the engine tries again.
 */
export async function attempt(
  signal: AbortSignal,
  code: 'TOOL_FAILED' | 'AGENT_FAILED',
  act: () => Promise<StepOutcome>,
): Promise<StepOutcome> {
  try {
    return await act()
  } catch (error) {
    if (signal.aborted) return { kind: 'canceled', at: Date.now() }
    if (isPassing(error)) throw error
    return failed(asFailure(error, code))
  }
}

export function performTool(
  { toolbox }: { readonly toolbox: Toolbox },
  caller: StepCaller,
  call: StepCall,
  target: Extract<StepCall['target'], { kind: 'tool' }>,
  signal: AbortSignal,
): Promise<StepOutcome> {
  return attempt(signal, 'TOOL_FAILED', () => useTool(toolbox, caller, call, target, signal))
}

async function useTool(
  toolbox: Toolbox,
  caller: StepCaller,
  call: StepCall,
  { toolId, isForAgents = false }: Extract<StepCall['target'], { kind: 'tool' }>,
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
    isForAgents,
    signal,
    ...(answer && { answer }),
  })
  return result.kind === 'output' ? succeeded(result.output) : asked(result.payload)
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

/** A run's own values may hold what no other table keeps. */
export const unstorable: Failure = {
  code: 'STEP_INPUT_INVALID',
  message: 'The input holds something that cannot be stored, such as a NUL character.',
}

/** Tools and agents may name a code and details; any other error is told by its message alone. */
function asFailure(error: unknown, code: 'TOOL_FAILED' | 'AGENT_FAILED'): Failure {
  if (isUnstorable(error)) return unstorable
  const { message } = error instanceof Error ? error : new Error(String(error))
  const named: Partial<AgentFailure | ToolFailure> =
    error instanceof ToolFailure || error instanceof AgentFailure ? error : {}
  return {
    code: named.code ?? code,
    message: message.slice(0, messageLength),
    ...(named.details && { details: named.details }),
  }
}
