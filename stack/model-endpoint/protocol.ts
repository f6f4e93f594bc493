import type { IncomingHttpHeaders } from 'node:http'

/** A conversation without what its protocol dressed it in: all that decides the next reply. */
export type Turn =
  | { role: 'user'; text: string }
  | { role: 'assistant' }
  | { role: 'tool'; outputs: string[] }

export interface ModelRequest {
  model: string
  turns: Turn[]
  tools: string[]
  maxTokens: number | undefined
  /** The JSON Schema that the reply must fit. */
  schema: Record<string, unknown> | undefined
  stream: boolean
  /** Whether the schema came as a tool to be called, which is how older models are asked. */
  objectAsTool?: boolean
  /** Whether a stream ends with what it used; some clients do not ask for it. */
  usageInStream?: boolean
}

export interface Reply {
  thinking: string
  text: string
  /** Set when the text is the structured output. */
  object: unknown
  toolCalls: { id: string; name: string; input: unknown }[]
  usage: { input: number; output: number }
  stop: 'end' | 'tools' | 'length'
}

export interface Protocol {
  checkHeaders(headers: IncomingHttpHeaders): void
  /** Throws a Refusal for what the real service would refuse. */
  read(body: unknown): ModelRequest
  errorBody(status: number, message: string): unknown
  /** The reply in one piece. */
  whole(request: ModelRequest, reply: Reply): unknown
  /** The reply as server-sent events, in order. */
  frames(request: ModelRequest, reply: Reply): string[]
}

export class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export function need(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Refusal(400, message)
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
