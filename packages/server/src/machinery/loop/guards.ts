import { isDeepStrictEqual } from 'node:util'
import type { ModelMessage, ModelToolCall, ModelToolResult } from '#machinery/models/models.ts'

export interface GuardLimits {
  /** How often in a row the same call may give the same result before the model is told, and before the loop ends. */
  readonly sameCalls: { readonly told: number; readonly ended: number }
  /** How many calls in a row may name tools that there are not. */
  readonly unknownCalls: number
}

interface Use {
  readonly call: ModelToolCall
  readonly result: ModelToolResult
}

/**
 * Whether the model goes in a circle. Read from the conversation and not counted along the way, so that it is the same
 * for whoever goes on with it elsewhere.
 */
export function goesInCircles(
  messages: readonly ModelMessage[],
  limits: GuardLimits,
  isKnown: (name: string) => boolean,
): boolean {
  const uses = usesSinceLastWord(messages)
  const unknown = rows(uses, (a, b) => !isKnown(a.call.name) && !isKnown(b.call.name))
  return (
    rows(uses, isSame).some((row) => row >= limits.sameCalls.ended) ||
    uses.some(({ call }, index) => !isKnown(call.name) && at(unknown, index) >= limits.unknownCalls)
  )
}

/** The conversation with a word at the end of each result that came too often; outside of what a tool said. */
export function withNotices(
  messages: readonly ModelMessage[],
  { sameCalls }: GuardLimits,
): readonly ModelMessage[] {
  const uses = usesSinceLastWord(messages)
  const often = new Map<ModelToolResult, number>()
  for (const [index, row] of rows(uses, isSame).entries()) {
    const use = uses[index]
    if (use && row >= sameCalls.told) often.set(use.result, row)
  }
  if (often.size === 0) return messages
  return messages.map((message) => {
    if (message.role !== 'tool') return message
    return { ...message, results: message.results.map((result) => noticed(result, often.get(result))) }
  })
}

function noticed(result: ModelToolResult, times: number | undefined): ModelToolResult {
  if (times === undefined) return result
  const notice = `[Notice: ${times} times in a row this call was made and gave this result. Making it again changes \
nothing: do something else, or say what is missing and end your turn.]`
  return { ...result, output: `${result.output}\n\n${notice}` }
}

/** Calls that have a result, since somebody last said something, in the order in which they were asked for. */
function usesSinceLastWord(messages: readonly ModelMessage[]): Use[] {
  const begin = messages.findLastIndex(({ role }) => role === 'user') + 1
  const recent = messages.slice(begin)
  return recent.flatMap((message, index) => {
    const answers = recent[index + 1]
    if (message.role !== 'assistant' || answers?.role !== 'tool') return []
    return message.toolCalls.flatMap((call) => {
      const result = answers.results.find(({ toolCallId }) => toolCallId === call.id)
      return result ? [{ call, result }] : []
    })
  })
}

/** For each use how many in a row up to it are alike. */
function rows(uses: readonly Use[], areAlike: (a: Use, b: Use) => boolean): number[] {
  const lengths: number[] = []
  for (const [index, use] of uses.entries()) {
    const before = uses[index - 1]
    lengths.push(before && areAlike(before, use) ? at(lengths, index - 1) + 1 : 1)
  }
  return lengths
}

function at(lengths: readonly number[], index: number): number {
  return lengths[index] ?? 0
}

/** Arguments are alike whatever the order of their names. */
function isSame(a: Use, b: Use): boolean {
  return (
    a.call.name === b.call.name &&
    a.result.isError === b.result.isError &&
    known(a.result) === known(b.result) &&
    isDeepStrictEqual(a.call.input, b.call.input)
  )
}

function known({ digest, output }: ModelToolResult): string {
  return digest ?? output
}
