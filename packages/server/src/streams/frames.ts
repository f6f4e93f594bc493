import { messageDeltaType } from '@guildhall/contract'

/** An event as it lies in the log; the payload is JSON text and is passed on as it is. */
export interface EventRow {
  readonly sequence: number
  readonly type: string
  readonly payload: string
  /** Of a log that several runs write to: whose it is. */
  readonly of?: string | null
  /** What its frame has beside: fields of JSON, each with a comma behind it. */
  readonly more?: string
}

/** Without an id: who reconnects resumes after the last event and not after this. */
export function deltaFrame(text: string, more = ''): string {
  return `data: {"type":"${messageDeltaType}",${more}"payload":${JSON.stringify({ text })}}\n\n`
}

/** Events as they travel to their readers: consecutive ones, or none when they are better read from the log. */
export interface EventNews {
  readonly kind: 'events'
  readonly first: number
  readonly last: number
  /** Whether the last of them ends the log. */
  readonly ended: boolean
  readonly frames: string
}

export interface DeltaNews {
  readonly kind: 'deltas'
  /** The last event before them, Infinity when that is not known: who is past it has no use for them. */
  readonly after: number
  /** The run that says them, where a log has several. */
  readonly of?: string
  readonly frames: string
}

/** A line of facts, then the frames as readers get them. */
export function encodeNews(news: EventNews | DeltaNews): string {
  if (news.kind === 'deltas')
    return `deltas ${news.after}${news.of === undefined ? '' : ` ${news.of}`}\n${news.frames}`
  return `events ${news.first} ${news.last}${news.ended ? ' end' : ''}\n${news.frames}`
}

export function decodeNews(message: string): EventNews | DeltaNews {
  const lineEnd = message.indexOf('\n')
  const [kind, first, last, end] = message.slice(0, lineEnd).split(' ')
  const frames = message.slice(lineEnd + 1)
  if (kind === 'deltas')
    return { kind, after: Number(first), ...(last !== undefined && { of: last }), frames }
  if (kind !== 'events') throw new Error(`a word about events of an unknown kind: ${kind}`)
  return { kind, first: Number(first), last: Number(last), ended: end === 'end', frames }
}

/** Without reading it: whether it tells of events, and not of words that come before one. */
export function isNewsOfEvents(message: string): boolean {
  return message.startsWith('events ')
}

/** What a frame has besides its payload, or a little more. */
const aroundPayload = 150

/** The first of consecutive events, and more while all their frames fit the length; and about how long those are. */
export function fitting(
  rows: readonly EventRow[],
  maxLength: number,
): { rows: readonly EventRow[]; length: number } {
  let length = 0
  for (const [index, { payload }] of rows.entries()) {
    const longer = length + payload.length + aroundPayload
    if (index > 0 && longer > maxLength) return { rows: rows.slice(0, index), length }
    length = longer
  }
  return { rows, length }
}
