import { messageDeltaType } from '@guildhall/contract'

/** An event as it lies in the log; the payload is JSON text and is passed on as it is. */
export interface EventRow {
  readonly sequence: number
  readonly type: string
  readonly payload: string
}

/** After it nothing more comes. */
const lastEventType = 'session.status_idle'

export function eventId(executionRowId: number, sequence: number): string {
  return `evt_${executionRowId}_${sequence}`
}

export function eventFrame(executionRowId: number, { sequence, type, payload }: EventRow): string {
  const id = eventId(executionRowId, sequence)
  return `id: ${sequence}\ndata: {"id":"${id}","type":"${type}","sequence":${sequence},"payload":${payload}}\n\n`
}

/** Without an id: who reconnects resumes after the last event and not after this. */
export function deltaFrame(text: string): string {
  return `data: ${JSON.stringify({ type: messageDeltaType, payload: { text } })}\n\n`
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
  readonly frames: string
}

/** A line of facts, then the frames as readers get them. */
export function encodeNews(news: EventNews | DeltaNews): string {
  if (news.kind === 'deltas') return `deltas ${news.after}\n${news.frames}`
  return `events ${news.first} ${news.last}${news.ended ? ' end' : ''}\n${news.frames}`
}

export function decodeNews(message: string): EventNews | DeltaNews {
  const lineEnd = message.indexOf('\n')
  const [kind, first, last, end] = message.slice(0, lineEnd).split(' ')
  const frames = message.slice(lineEnd + 1)
  if (kind === 'deltas') return { kind, after: Number(first), frames }
  if (kind !== 'events') throw new Error(`a word about events of an unknown kind: ${kind}`)
  return { kind, first: Number(first), last: Number(last), ended: end === 'end', frames }
}

/** What readers are told of consecutive events: the first of them, and more while all fits the length. */
export function newsOf(
  executionRowId: number,
  rows: readonly EventRow[],
  maxLength = Number.POSITIVE_INFINITY,
): EventNews {
  let frames = ''
  let last = rows[0]
  for (const row of rows) {
    const frame = eventFrame(executionRowId, row)
    if (frames !== '' && frames.length + frame.length > maxLength) break
    frames += frame
    last = row
  }
  return {
    kind: 'events',
    first: rows[0]?.sequence ?? 0,
    last: last?.sequence ?? 0,
    ended: last?.type === lastEventType,
    frames,
  }
}
