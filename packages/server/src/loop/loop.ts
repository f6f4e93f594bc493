import type { Allowance } from '../billing/billing.ts'
import type {
  ModelQuestion,
  ModelReply,
  ModelRetry,
  Models,
  ModelTool,
  ModelToolCall,
  ProviderKey,
} from '../models/models.ts'
import { type Conversation, openCalls } from './conversation.ts'
import { askedFor, readValue, type Schema } from './wanted-output.ts'

export { conversationAbout } from './conversation.ts'
export type { Schema } from './wanted-output.ts'

export interface Usage {
  costMilliDs: number
  inputTokens: number
  outputTokens: number
}

interface ToolOutput {
  /** For the model. */
  output: string
  isError: boolean
}

interface Toolset<Pause = never> {
  readonly schemas: readonly ModelTool[]
  /** What the call came to, or why the loop must stop here until something has happened. */
  use(call: ModelToolCall): Promise<ToolOutput | { pause: Pause }>
}

interface LoopLimits {
  /** Replies in all. */
  readonly steps: number
  /** Of one reply. */
  readonly outputTokens: number
}

export const standardLimits: LoopLimits = { steps: 200, outputTokens: 8192 }

/** What happens, for whoever watches. */
export type LoopEvent =
  | { type: 'thinking' }
  | { type: 'text'; delta: string }
  | { type: 'retry'; retry: ModelRetry }
  | { type: 'reply'; reply: ModelReply; usage: Usage }
  | { type: 'tool_use'; call: ModelToolCall }
  | { type: 'tool_result'; call: ModelToolCall; result: ToolOutput }

export interface Loop<Pause = never> {
  readonly models: Models
  /** Undefined: the deployment's default. */
  readonly model: string | undefined
  readonly providerKey: ProviderKey | undefined
  readonly system: string
  readonly conversation: Conversation
  /** Without it a model that asks for tools all the same is taken to have said only its text. */
  readonly toolset?: Toolset<Pause>
  /** What may be spent in all, as things stand now: a key's limit may have been used up elsewhere. */
  budget(): Promise<Allowance>
  /** Keeps what was used so far, before the next call can use more. */
  spend(usage: Usage): void | Promise<void>
  /** Without it a reply is tried again although a part of it came: nobody heard that part. */
  readonly tell?: (event: LoopEvent) => void
  readonly limits: LoopLimits
  /** JSON Schema of the value that is wanted instead of a text; one that a definition was accepted with. */
  readonly outputSchema?: Schema
  readonly signal: AbortSignal
}

export type LoopOutcome<Pause = never> = { usage: Usage } & (
  | { end: 'answered'; reply: ModelReply; value: unknown }
  /** The last reply is as long as the limits let it be. */
  | { end: 'cut'; reply: ModelReply }
  | { end: 'limit_reached'; limitedBy: Allowance['limitedBy'] }
  | { end: 'too_many_steps' }
  /** Told once what is wrong with its value, the model gave another wrong one. */
  | { end: 'misfit'; problem: string }
  /** The call has no result; run again with the same conversation, the loop begins with it. */
  | { end: 'paused'; call: ModelToolCall; pause: Pause }
)

/**
 * The model asks for tools, they are used, the model is told, until it has nothing more to ask. The one place that
 * calls a model: no reply is asked for that the budget does not cover, and what a reply took is kept before anything
 * follows from it. Throws what the model, a tool or an abort throws.
 */
export async function runLoop<Pause = never>(loop: Loop<Pause>): Promise<LoopOutcome<Pause>> {
  const { conversation, limits, outputSchema } = loop
  const usage: Usage = { costMilliDs: 0, inputTokens: 0, outputTokens: 0 }
  let isRepair = false
  for (let step = 0; ; step++) {
    const paused = await useTools(loop)
    if (paused) return { ...paused, usage }
    if (step === limits.steps) return { end: 'too_many_steps', usage }
    const budget = await loop.budget()
    const question = questionOf(loop)
    const left = budget.amountMilliDs - usage.costMilliDs
    const tokens = loop.models.affordableTokens(question, left, limits.outputTokens, loop.providerKey)
    if (tokens === 0) return { end: 'limit_reached', limitedBy: budget.limitedBy, usage }
    const reply = await nextReply(loop, question, tokens)
    count(loop, reply, budget, usage)
    loop.tell?.({ type: 'reply', reply, usage: { ...usage } })
    await loop.spend({ ...usage })
    await conversation.addReply(reply)
    if (reply.toolCalls.length > 0) continue
    if (reply.stop === 'length') {
      // Cut off by the budget rather than by the model's own length, it did not finish.
      if (tokens < limits.outputTokens) return { end: 'limit_reached', limitedBy: budget.limitedBy, usage }
      return { end: 'cut', reply, usage }
    }
    if (!outputSchema) return { end: 'answered', reply, value: undefined, usage }
    const read = readValue(reply, outputSchema)
    if ('value' in read) return { end: 'answered', reply, value: read.value, usage }
    if (isRepair) return { end: 'misfit', problem: read.problem, usage }
    isRepair = true
    await conversation.addRemark(read.problem)
  }
}

function questionOf<Pause>({ model, system, conversation, toolset }: Loop<Pause>): ModelQuestion {
  return { model, system, messages: conversation.messages(), tools: toolset?.schemas ?? [] }
}

async function nextReply<Pause>(
  { models, providerKey, toolset, outputSchema, tell, signal }: Loop<Pause>,
  question: ModelQuestion,
  maxOutputTokens: number,
): Promise<ModelReply> {
  const reply = await models.call(
    {
      ...question,
      maxOutputTokens,
      signal,
      ...(outputSchema && { outputSchema: askedFor(outputSchema) }),
      ...(tell && listeners(tell)),
    },
    providerKey,
  )
  return toolset ? reply : { ...reply, toolCalls: [] }
}

function listeners(tell: (event: LoopEvent) => void) {
  let thinking = false
  return {
    onText: (delta: string) => tell({ type: 'text', delta }),
    onThinking: () => {
      if (!thinking) tell({ type: 'thinking' })
      thinking = true
    },
    onRetry: (retry: ModelRetry) => tell({ type: 'retry', retry }),
  }
}

function count<Pause>(
  { models, model, providerKey }: Loop<Pause>,
  reply: ModelReply,
  { amountMilliDs }: Allowance,
  usage: Usage,
): void {
  usage.inputTokens += reply.usage.inputTokens
  usage.outputTokens += reply.usage.outputTokens
  // What the provider counts beyond the estimate is not the person's to pay.
  const price = models.priceMilliDs(model, reply.usage, providerKey)
  usage.costMilliDs = Math.min(usage.costMilliDs + price, amountMilliDs)
}

/** One after the other: they work on the same things. */
async function useTools<Pause>({ conversation, toolset, tell, signal }: Loop<Pause>) {
  if (!toolset) return undefined
  for (const call of openCalls(conversation.messages())) {
    signal.throwIfAborted()
    tell?.({ type: 'tool_use', call })
    const used = await toolset.use(call)
    if ('pause' in used) return { end: 'paused', call, pause: used.pause } as const
    tell?.({ type: 'tool_result', call, result: used })
    const { output, isError } = used
    await conversation.addResult({ toolCallId: call.id, name: call.name, output, isError })
  }
  return undefined
}
