import type { ModelMessage, ModelReply, ModelToolCall, ModelToolResult } from '#machinery/models/models.ts'

/**
 * What was said so far, and where what is said next is kept: a list that ends with its process, or a log that
 * outlives it. Each `add` is done before anything is built on what was added.
 */
export interface Conversation {
  /** In the order of their turns; the results of tools directly after the turn that asked for them. */
  messages(): readonly ModelMessage[]
  addReply(reply: ModelReply): void | Promise<void>
  /**
   * One at a time, in the order of the calls but for tools that only look: whoever goes on later uses only the tools
   * that gave none yet.
   */
  addResult(result: ModelToolResult): void | Promise<void>
  /** Something that the model is told and no person said. */
  addRemark(text: string): void | Promise<void>
}

/** A conversation in memory that begins with what the model is asked. */
export function conversationAbout(text: string): Conversation {
  const messages: ModelMessage[] = [{ role: 'user', text }]
  return {
    messages: () => messages,
    addReply: ({ text, toolCalls }) => void messages.push({ role: 'assistant', text, toolCalls }),
    addResult: (result) => {
      const last = messages.at(-1)
      if (last?.role === 'tool')
        messages[messages.length - 1] = { ...last, results: [...last.results, result] }
      else messages.push({ role: 'tool', results: [result] })
    },
    addRemark: (text) => void messages.push({ role: 'user', text }),
  }
}

/** Calls of the last turn that have no result yet. */
export function openCalls(messages: readonly ModelMessage[]): ModelToolCall[] {
  const last = messages.at(-1)
  const results = last?.role === 'tool' ? last.results : []
  return askedIn(messages).filter(({ id }) => !results.some(({ toolCallId }) => toolCallId === id))
}

/** All calls of the last turn. */
export function askedIn(messages: readonly ModelMessage[]): readonly ModelToolCall[] {
  const asking = messages.at(-1)?.role === 'tool' ? messages.at(-2) : messages.at(-1)
  return asking?.role === 'assistant' ? asking.toolCalls : []
}
