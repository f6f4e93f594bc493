import type { TurnType } from '@guildhall/contract'

interface Turn {
  readonly type: TurnType
  /** JSON. */
  readonly payload: string
}

type Payload = Readonly<Record<string, unknown>>

interface Reading {
  readonly type: TurnType
  /** What the turn says; undefined when this event is none. As the event does, unless given. */
  readonly payload?: (payload: Payload) => Payload | undefined
}

/** What each event of a producer's log is as a turn. All other events are none, and their numbers stay unused. */
const table: Readonly<Record<string, Reading>> = {
  'user.message': { type: 'user.message' },
  'agent.message': { type: 'agent.text' },
  'agent.info': { type: 'agent.text', payload: fileOf },
  'agent.thinking': { type: 'agent.thinking' },
  'agent.tool_use': { type: 'tool.call' },
  'agent.tool_result': { type: 'tool.result' },
  'session.status_idle': { type: 'error', payload: endOf },
  'run.finished': { type: 'error', payload: endOf },
  error: { type: 'error' },
}

/** Only these need to be read. */
export const turnEvents: readonly string[] = Object.keys(table)

/** Of text as it is kept: most of it is passed on as it is, and reading it would take longer than all the rest. */
export function turnOf(type: string, payload: string): Turn | undefined {
  const reading = table[type]
  if (!reading) return undefined
  if (!reading.payload) return { type: reading.type, payload }
  const fields: Payload = JSON.parse(payload)
  // Erased: it was a turn and keeps its number, and nothing is left of it to read.
  if (fields['redacted'] === true) return { type: reading.type, payload }
  const said = reading.payload(fields)
  return said && { type: reading.type, payload: JSON.stringify(said) }
}

function fileOf({ kind, name, mimeType, sizeBytes, artifactId, url }: Payload): Payload | undefined {
  if (kind !== 'file') return undefined
  return { content: [{ type: 'file', name, mimeType, sizeBytes, artifactId, url }] }
}

/** An end that the agent came to by itself was told by what it said last. */
function endOf(payload: Payload): Payload | undefined {
  const { type: stopReason, code } = payload['stop_reason'] as { type: string; code?: string }
  if (stopReason === 'end_turn') return undefined
  return { stopReason, ...(code === undefined ? {} : { code }) }
}
