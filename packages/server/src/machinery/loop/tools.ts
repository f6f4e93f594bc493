import type { ModelTool, ModelToolCall } from '#machinery/models/models.ts'
import { askedIn, type Conversation, openCalls } from './conversation.ts'

export interface ToolOutput {
  /** For the model. */
  output: string
  isError: boolean
}

export interface Toolset<Pause = never> {
  readonly schemas: readonly ModelTool[]
  /** What the call came to, or why the loop must stop here until something has happened. */
  use(call: ModelToolCall): Promise<ToolOutput | { pause: Pause }>
  /** Tools that only look, and so may be used several at a time. Without it none of them does. */
  kindOf?(name: string): 'look' | 'keyed' | 'unkeyed'
}

export type ToolEvent =
  | { type: 'tool_use'; call: ModelToolCall }
  | { type: 'tool_result'; call: ModelToolCall; result: ToolOutput }

export interface ToolUse<Pause> {
  readonly conversation: Conversation
  readonly toolset: Toolset<Pause>
  /** Of one reply; the model is told of those beyond. Undefined: as many as it likes. */
  readonly mostCalls: number | undefined
  /** Whether the loop itself answers calls of tools that there are not. */
  readonly answersUnknown: boolean
  readonly tell: ((event: ToolEvent) => void) | undefined
  /** Whether enough was used: asked after each result, before the next call. */
  isOver(): boolean
  readonly signal: AbortSignal
}

export interface Paused<Pause> {
  readonly call: ModelToolCall
  readonly pause: Pause
}

const looksAtOnce = 4

/**
 * Uses what the last reply asked for and has no result yet: one after the other, since they work on the same things,
 * but those that only look side by side.
 */
export async function useTools<Pause>(use: ToolUse<Pause>): Promise<Paused<Pause> | undefined> {
  const { conversation, toolset, mostCalls, signal } = use
  const messages = conversation.messages()
  const waiting = openCalls(messages)
  const refused = new Set(askedIn(messages).slice(mostCalls ?? Number.POSITIVE_INFINITY))
  while (waiting.length > 0 && !use.isOver()) {
    signal.throwIfAborted()
    const looks = waiting.findIndex((call) => !onlyLooks(toolset, call))
    const together = waiting.splice(0, looks === -1 ? waiting.length : Math.max(1, looks))
    const paused = await useTogether(use, together, refused)
    if (paused) return paused
  }
  return undefined
}

function isOffered<Pause>({ schemas }: Toolset<Pause>, call: ModelToolCall): boolean {
  return schemas.some(({ name }) => name === call.name)
}

function onlyLooks<Pause>(toolset: Toolset<Pause>, call: ModelToolCall): boolean {
  return isOffered(toolset, call) && toolset.kindOf?.(call.name) === 'look'
}

/**
 * Each result is added when it is there. Ends when all have ended, also when one of them failed: nothing goes on
 * behind the back of whoever called. Of several that must wait the first is told; the others are called again then.
 */
async function useTogether<Pause>(
  use: ToolUse<Pause>,
  calls: readonly ModelToolCall[],
  refused: ReadonlySet<ModelToolCall>,
): Promise<Paused<Pause> | undefined> {
  const waits: Paused<Pause>[] = []
  const waiting = calls.values()
  let isBroken = false
  let lastAdded: Promise<void> = Promise.resolve()
  const worker = async () => {
    for (const call of waiting) {
      if (isBroken) return
      const used = await useOne(use, call, refused.has(call))
      if ('pause' in used) {
        waits.push({ call, pause: used.pause })
        continue
      }
      lastAdded = lastAdded.then(() => add(use, call, used))
      await lastAdded
    }
  }
  const workers = Array.from({ length: Math.min(looksAtOnce, calls.length) }, () =>
    worker().catch((error: unknown) => {
      isBroken = true
      throw error
    }),
  )
  const ended = await Promise.allSettled(workers)
  const failed = ended.find((end) => end.status === 'rejected')
  if (failed) throw failed.reason
  return waits.sort((a, b) => calls.indexOf(a.call) - calls.indexOf(b.call))[0]
}

async function useOne<Pause>(
  { toolset, mostCalls, answersUnknown, tell, signal }: ToolUse<Pause>,
  call: ModelToolCall,
  isRefused: boolean,
): Promise<ToolOutput | { pause: Pause }> {
  signal.throwIfAborted()
  tell?.({ type: 'tool_use', call })
  if (isRefused) {
    const output = `Not used: one reply may ask for ${mostCalls} tools. Ask again for those you still need.`
    return { output, isError: true }
  }
  if (answersUnknown && !isOffered(toolset, call)) {
    const names = toolset.schemas.map(({ name }) => name).join(', ')
    return { output: `There is no tool of that name. There are: ${names || 'none'}.`, isError: true }
  }
  return toolset.use(call)
}

async function add<Pause>(
  { conversation, tell }: ToolUse<Pause>,
  call: ModelToolCall,
  result: ToolOutput,
): Promise<void> {
  tell?.({ type: 'tool_result', call, result })
  const { output, isError } = result
  await conversation.addResult({ toolCallId: call.id, name: call.name, output, isError })
}
