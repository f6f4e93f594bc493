import { randomUUID } from 'node:crypto'
import { StringDecoder } from 'node:string_decoder'
import type { ModelReply, ModelToolCall } from '#machinery/models/models.ts'
import { withoutSecrets } from '#platform/secrets.ts'
import type { NewEvent } from './thread-log.ts'

/** Of an input or an output in an event; the rest is kept beside the log. */
export const shownBytes = 4096

interface ReplyFacts {
  /** How far the log was read for it. */
  readonly readThrough: number
  readonly runId: string
  /** How many replies of the run came before it. */
  readonly step: number
  labelOf(call: ModelToolCall): string
}

/**
 * A reply as events, each with all of what it shows only the beginning of. Calls get ids of ours: some providers give
 * the same ones again in every reply, and what a call does is done once under its id.
 */
export function replyEvents(
  reply: ModelReply,
  { readThrough, runId, step, labelOf }: ReplyFacts,
): { event: NewEvent; whole?: string }[] {
  const events: { event: NewEvent; whole?: string }[] = []
  if (reply.reasoning !== '') events.push({ event: { type: 'agent.thinking', runId, payload: {} } })
  if (reply.text !== '') {
    const payload = { messageId: `msg_${randomUUID()}`, content: reply.text, readThrough }
    events.push({ event: { type: 'agent.message', runId, payload } })
  }
  for (const [index, call] of reply.toolCalls.entries()) {
    const { name, input } = call
    const text = withoutSecrets(typeof input === 'string' ? input : JSON.stringify(input))
    const shown = cut(text, shownBytes)
    const toolUseId = `use_${runId.slice(0, 8)}_${step}_${index}`
    const payload = { toolUseId, name, label: withoutSecrets(labelOf(call)), input: shown, readThrough }
    events.push({
      event: { type: 'agent.tool_use', runId, payload },
      ...(shown.length < text.length && { whole: text }),
    })
  }
  return events
}

/** The beginning, without half a character at its end. */
export function cut(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text
  return new StringDecoder().write(Buffer.from(text).subarray(0, bytes))
}
