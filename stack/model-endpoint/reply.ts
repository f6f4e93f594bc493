import { randomBytes } from 'node:crypto'
import type { ModelRequest, Reply } from './protocol.ts'
import type { Step } from './step.ts'

const charsPerToken = 4
const smallestPiece = 24
const mostPieces = 100

export function replyTo(request: ModelRequest, step: Step, requestChars: number): Reply {
  const toolCalls = (step.tools ?? []).map(({ name, input }) => ({
    id: randomBytes(12).toString('hex'),
    name,
    input,
  }))
  const { object } = step
  const said = object === undefined ? (step.say ?? '').repeat(step.repeatText ?? 1) : JSON.stringify(object)
  const room = (request.maxTokens ?? Number.POSITIVE_INFINITY) * charsPerToken
  const text = said.length > room ? said.slice(0, room) : said
  const thinking = step.think ?? ''
  const written = thinking + text + JSON.stringify(toolCalls.map(({ input }) => input))
  return {
    thinking,
    text,
    object,
    toolCalls,
    usage: step.usage ?? { input: tokensOf(requestChars), output: tokensOf(written.length) },
    stop: text.length < said.length ? 'length' : toolCalls.length > 0 ? 'tools' : 'end',
  }
}

function tokensOf(chars: number): number {
  return Math.max(1, Math.ceil(chars / charsPerToken))
}

/** As a model streams it, but a long text in few pieces. */
export function piecesOf(text: string): string[] {
  const size = Math.max(smallestPiece, Math.ceil(text.length / mostPieces))
  // By code points: half a surrogate pair would arrive as a replacement character.
  return text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'gu')) ?? []
}
