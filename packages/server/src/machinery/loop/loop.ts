import type { Allowance } from '#accounts/billing/billing.ts'
import type { ModelPrompt, ModelReply, Models, ModelToolCall, ProviderKey } from '#machinery/models/models.ts'
import type { Conversation } from './conversation.ts'
import { type GuardLimits, goesInCircles, withNotices } from './guards.ts'
import { type Replied, type ReplyEvent, type ReplyRequest, requestReply } from './reply.ts'
import { type ToolEvent, type Toolset, useTools } from './tools.ts'
import { askedFor, readValue, type Schema } from './wanted-output.ts'

export { type Conversation, conversationAbout, openCalls } from './conversation.ts'
export type { ToolOutput, Toolset } from './tools.ts'
export { type Schema, valueIn } from './wanted-output.ts'

export interface Usage {
  costMilliDs: number
  inputTokens: number
  outputTokens: number
}

export interface LoopLimits {
  /** Replies in all. */
  readonly steps: number
  /** Of one reply. */
  readonly outputTokens: number
  /** Tools that one reply may ask for. */
  readonly callsPerStep?: number
  /** For models that go in circles. Without them only `steps` ends that. */
  readonly guards?: GuardLimits
}

export const standardLimits: LoopLimits = { steps: 200, outputTokens: 8192 }

/** Where a person waits for the answer, and pays for it. */
export const chatLimits: LoopLimits = {
  steps: 50,
  outputTokens: 8192,
  callsPerStep: 16,
  guards: { sameCalls: { told: 3, ended: 5 }, unknownCalls: 3 },
}

/** What happens, for whoever watches. */
export type LoopEvent =
  | ReplyEvent
  | { type: 'reply'; reply: ModelReply; usage: Usage; durationMs: number }
  | ToolEvent

export interface Loop<Pause = never> {
  readonly models: Models
  /** Undefined: the deployment's default. */
  readonly model: string | undefined
  readonly providerKey: ProviderKey | undefined
  /** See ReplyRequest. Without it a model's fallbacks are not asked. */
  readonly fallbackKey?: ReplyRequest['fallbackKey']
  readonly system: string
  readonly conversation: Conversation
  /** Without it a model that asks for tools all the same is taken to have said only its text. */
  readonly toolset?: Toolset<Pause>
  /** Done before each reply is asked for: what it adds to the conversation, the reply knows. */
  prepare?(step: number): Promise<void>
  /** What may be spent in all, as things stand now: a key's limit may have been used up elsewhere. */
  budget(): Promise<Allowance>
  /** Keeps what was used so far, before the next call can use more. */
  spend(usage: Usage): void | Promise<void>
  /** Without it a reply is tried again although a part of it came: nobody heard that part. */
  readonly tell?: (event: LoopEvent) => void
  /** What the reply under way has taken so far, by estimate, and once it is whole by the model's own count. */
  readonly progress?: ReplyRequest['progress']
  readonly limits: LoopLimits
  /** JSON Schema of the value that is wanted instead of a text; one that a definition was accepted with. */
  readonly outputSchema?: Schema
  /** The same, where it is the conversation that sees whether a reply fits and says what is wrong with it. */
  readonly format?: Schema
  readonly signal: AbortSignal
}

export type LoopOutcome<Pause = never> = { usage: Usage } & (
  | { end: 'answered'; reply: ModelReply; value: unknown }
  /** The last reply is as long as the limits let it be. */
  | { end: 'cut'; reply: ModelReply }
  | { end: 'limit_reached'; limitedBy: Allowance['limitedBy'] }
  | { end: 'too_many_steps' }
  /** The model went on making the same call, or calls of tools that there are not. */
  | { end: 'tool_loop' }
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
    const stopped = await useAskedTools(loop)
    if (stopped) return { ...stopped, usage }
    if (step === limits.steps) return { end: 'too_many_steps', usage }
    await loop.prepare?.(step)
    const budget = await loop.budget()
    const asked = performance.now()
    const replied = await nextReply(loop, budget.amountMilliDs - usage.costMilliDs)
    if (!replied) return { end: 'limit_reached', limitedBy: budget.limitedBy, usage }
    const durationMs = Math.round(performance.now() - asked)
    const { tokens } = replied
    const reply = loop.toolset ? replied.reply : { ...replied.reply, toolCalls: [] }
    const before = usage.costMilliDs
    count(replied, budget, usage)
    loop.progress?.(reply.usage, usage.costMilliDs - before)
    loop.tell?.({ type: 'reply', reply, usage: { ...usage }, durationMs })
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

async function useAskedTools<Pause>({ conversation, toolset, limits, tell, signal }: Loop<Pause>) {
  if (!toolset) return undefined
  const { guards, callsPerStep: mostCalls } = limits
  const isKnown = (name: string) => toolset.schemas.some((schema) => schema.name === name)
  const isOver = () => guards !== undefined && goesInCircles(conversation.messages(), guards, isKnown)
  const answersUnknown = guards !== undefined
  const paused = await useTools({ conversation, toolset, mostCalls, answersUnknown, tell, isOver, signal })
  if (paused) return { end: 'paused', ...paused } as const
  return isOver() ? ({ end: 'tool_loop' } as const) : undefined
}

function promptOf<Pause>({ model, system, conversation, toolset, limits }: Loop<Pause>): ModelPrompt {
  const said = conversation.messages()
  const messages = limits.guards ? withNotices(said, limits.guards) : said
  return { model, system, messages, tools: toolset?.schemas ?? [] }
}

function nextReply<Pause>(loop: Loop<Pause>, leftMilliDs: number): Promise<Replied | undefined> {
  const { models, providerKey, fallbackKey, limits, tell, progress, signal } = loop
  const schema = loop.outputSchema ?? loop.format
  return requestReply({
    models,
    prompt: promptOf(loop),
    providerKey,
    fallbackKey,
    leftMilliDs,
    mostTokens: limits.outputTokens,
    outputSchema: schema && askedFor(schema),
    tell,
    progress,
    signal,
  })
}

function count({ reply, costMilliDs }: Replied, { amountMilliDs }: Allowance, usage: Usage): void {
  usage.inputTokens += reply.usage.inputTokens
  usage.outputTokens += reply.usage.outputTokens
  // What the provider counts beyond the estimate is not the person's to pay.
  usage.costMilliDs = Math.min(usage.costMilliDs + costMilliDs, amountMilliDs)
}
