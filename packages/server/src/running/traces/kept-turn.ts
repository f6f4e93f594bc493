import type { TraceTurn } from '@guildhall/contract'
import type { Turn } from './redact.ts'

/** A turn as it is kept. What it says is read only when somebody asks for it: many just pass its text on. */
export class KeptTurn implements Turn {
  readonly seq: number
  readonly type: TraceTurn['type']
  readonly text: string
  readonly actorAgentSlug: string | null
  readonly at: string
  readonly origin: TraceTurn['origin']
  #payload: TraceTurn['payload'] | undefined

  constructor({ seq, type, actorAgentSlug, at, origin }: Omit<TraceTurn, 'payload'>, text: string) {
    this.seq = seq
    this.type = type
    this.text = text
    this.actorAgentSlug = actorAgentSlug
    this.at = at
    this.origin = origin
  }

  get payload(): TraceTurn['payload'] {
    this.#payload ??= JSON.parse(this.text) as TraceTurn['payload']
    return this.#payload
  }

  describe(): TraceTurn {
    const { seq, type, payload, actorAgentSlug, at, origin } = this
    return { seq, type, payload, actorAgentSlug, at, origin }
  }
}
