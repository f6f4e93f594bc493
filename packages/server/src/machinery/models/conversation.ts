/** What a run says to a model and hears from it, whichever provider serves it. */
export type ModelMessage =
  | { role: 'user'; text: string }
  | { role: 'assistant'; text: string; toolCalls: readonly ModelToolCall[] }
  /** Directly after the assistant's turn, one result for each of its calls. */
  | { role: 'tool'; results: readonly ModelToolResult[] }

export interface ModelToolCall {
  id: string
  name: string
  /** As the model gave it: check it. Text where the model did not write JSON. */
  input: unknown
}

export interface ModelToolResult {
  toolCallId: string
  name: string
  output: string
  isError: boolean
  /** By which the whole output is known where `output` is not the whole of it, or has something around it. */
  digest?: string
}

export interface ModelTool {
  name: string
  description: string
  /** JSON Schema of an object. */
  inputSchema: object
}

export interface ModelUsage {
  inputTokens: number
  outputTokens: number
}

export interface ModelReply {
  /** Which one said it. */
  model: string
  text: string
  reasoning: string
  toolCalls: ModelToolCall[]
  usage: ModelUsage
  stop: 'end' | 'tools' | 'length' | 'other'
  /** Fits the call's `outputSchema`. */
  object?: unknown
  /** Why there is no `object` at the end of a turn that should have one, in words for the model. */
  objectProblem?: string
}

export type RetryReason = 'rate_limited' | 'overloaded' | 'provider_error' | 'network'

export interface ModelRetry {
  reason: RetryReason
  /** How many attempts have failed. */
  attempt: number
  retryInMs: number
  /** Whether `onText` was told a part of the failed reply: it is void and the next attempt starts over. */
  voidsText: boolean
}

export interface ModelCall {
  /** Undefined: the deployment's default. */
  model: string | undefined
  system: string
  messages: readonly ModelMessage[]
  tools: readonly ModelTool[]
  maxOutputTokens: number
  /** How often it is asked at most, the first time included. Undefined: as the deployment does. */
  attempts?: number
  signal: AbortSignal
  onText?: (delta: string) => void
  onThinking?: () => void
  /** What the reply has taken so far, roughly; before `onText` is told what it took that for. */
  onProgress?: (usage: ModelUsage) => void | Promise<void>
  /** Without it a reply that broke off after its first text is not tried again: nobody could be told. */
  onRetry?: (retry: ModelRetry) => void
  /** JSON Schema of the object that the turn must end with. */
  outputSchema?: object
}

const charsPerToken = 4

/** What a call sends, roughly; for budgets, and for providers that do not count. */
export function estimateInputTokens(call: Pick<ModelCall, 'system' | 'messages' | 'tools'>): number {
  const { system, messages, tools } = call
  return estimateTokens(system + JSON.stringify(messages) + JSON.stringify(tools))
}

export function estimateTokens(text: string): number {
  return tokensOf(text.length)
}

export function tokensOf(letters: number): number {
  return Math.ceil(letters / charsPerToken)
}
