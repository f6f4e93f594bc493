import { createHash, randomUUID } from 'node:crypto'
import { type KeyRing, seal, unseal } from '#platform/secrets.ts'
import type { RequestId } from './message.ts'
import { type ClientCapabilities, isRecord, type RecordOf } from './shapes.ts'

/**
 * What other servers keep in a process stands in texts that only this deployment can have made, and that any of its
 * processes reads. Each is bound to the credential it was given to. None of them opens anything: whatever is done is
 * asked for with the credential of the request.
 */
const purposes = { session: 'mcp.session', state: 'mcp.state', event: 'mcp.event' } as const
const sessionDays = 30
const stateSeconds = 600

/** What a legacy client said at its handshake. */
export interface SessionNote {
  readonly version: string
  readonly elicitsUrl: boolean
  readonly elicitsForm: boolean
  readonly name: string | undefined
  /** Tells its requests from those of another client with the same credential. */
  readonly word: string
}

interface SealedSession {
  readonly v: string
  readonly c: number
  readonly n?: string
  readonly s: string
  readonly k: string
  readonly t: number
}

export function sealSession(
  ring: KeyRing,
  credential: string,
  said: { version: string; capabilities: ClientCapabilities; name: string | undefined },
): string {
  const { elicitation } = said.capabilities
  const form = elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
  const note: SealedSession = {
    v: said.version,
    c: (form ? 1 : 0) + (elicitation?.url === undefined ? 0 : 2),
    ...(said.name === undefined ? {} : { n: said.name.slice(0, 64) }),
    s: randomUUID(),
    k: credential,
    t: Date.now(),
  }
  return seal(ring, purposes.session, note)
}

/** Undefined for whatever is not ours, another credential's or old: then nothing is known of the client. */
export function readSession(
  ring: KeyRing,
  credential: string,
  sealed: string | undefined,
): SessionNote | undefined {
  const note = sealed === undefined ? undefined : unseal<SealedSession>(ring, purposes.session, sealed)
  if (!note || note.k !== credential || Date.now() - note.t > sessionDays * 86_400_000) return undefined
  return {
    version: note.v,
    elicitsForm: (note.c & 1) > 0,
    elicitsUrl: (note.c & 2) > 0,
    name: note.n,
    word: note.s,
  }
}

/** What a question to a modern client must be answered for: this call of this credential, and soon. */
interface Asked {
  readonly credential: string
  readonly method: string
  readonly params: RecordOf
}

interface SealedState {
  readonly k: string
  readonly m: string
  readonly d: string
  readonly e: number
  readonly v: unknown
}

export function sealState(ring: KeyRing, { credential, method, params }: Asked, value: unknown): string {
  const state: SealedState = {
    k: credential,
    m: method,
    d: digestOf(params),
    e: Date.now() + stateSeconds * 1000,
    v: value,
  }
  return seal(ring, purposes.state, state)
}

export function readState(ring: KeyRing, asked: Asked, sealed: string): { value: unknown } | undefined {
  const state = unseal<SealedState>(ring, purposes.state, sealed)
  const fits =
    state !== undefined &&
    state.k === asked.credential &&
    state.m === asked.method &&
    state.d === digestOf(asked.params) &&
    Date.now() < state.e
  return fits ? { value: state.v } : undefined
}

function digestOf(params: RecordOf): string {
  const text = JSON.stringify([params['name'] ?? params['uri'] ?? null, params['arguments'] ?? null])
  return createHash('sha256').update(text).digest('base64url')
}

/** Where a legacy client's stream was, so that any process goes on with it. */
export interface Place {
  readonly kind: 'execution' | 'run'
  readonly target: string
  /** The last progress that was told. */
  readonly progress: number
  readonly after: number
  readonly until: number
}

export interface EventNote extends Place {
  readonly id: RequestId
  readonly token: RequestId
}

export function sealEvent(ring: KeyRing, credential: string, note: EventNote): string {
  return seal(ring, purposes.event, { ...note, credential })
}

export function readEvent(ring: KeyRing, credential: string, sealed: string): EventNote | undefined {
  const note = unseal<EventNote & { readonly credential: string }>(ring, purposes.event, sealed)
  return isRecord(note) && note.credential === credential ? note : undefined
}
