import type { Exchange } from './exchange.ts'
import type { EventNote } from './sealed.ts'
import type { InputRequests, RecordOf, ServerCapabilities } from './shapes.ts'

type Era = 'modern' | 'legacy'

/** How long a client may keep an answer, and whether it is the same for everybody. */
interface Caching {
  readonly ttlMs: number
  readonly cacheScope: 'public' | 'private'
}

interface MethodFacts {
  /** Where only one of them has it. */
  readonly era?: Era
  readonly caching?: Caching
}

/** What is the same for everybody for as long as the process lives: it is written once. */
export interface ConstantMethod extends MethodFacts {
  readonly constant: RecordOf
}

export interface CalledMethod extends MethodFacts {
  handle(exchange: Exchange): Promise<RecordOf | InputRequired>
}

export type Method = ConstantMethod | CalledMethod

/** What a server offers behind the wire, which knows none of it. */
export interface Catalogue {
  readonly serverInfo: { readonly name: string; readonly title?: string; readonly version: string }
  readonly instructions: string
  /** A map, and no object: a method may be called `constructor`. */
  readonly methods: ReadonlyMap<string, Method>
  capabilities(era: Era): ServerCapabilities
  /** Goes on with a legacy stream that broke off, to its result. */
  resume?(exchange: Exchange, note: EventNote): Promise<RecordOf>
}

/**
 * Instead of a result: what the client has to be asked first, or nothing but to come again. A modern client gets it as it
 * is; a legacy one is asked on its open answer. Then the method is called again, with the answers and the state.
 */
export class InputRequired {
  readonly requests: InputRequests | undefined
  readonly state: unknown
  /** Resolves when there is no need for the client's answer any more. */
  readonly orWhen: ((signal: AbortSignal) => Promise<void>) | undefined

  constructor(options: {
    requests?: InputRequests | undefined
    state?: unknown
    orWhen?: (signal: AbortSignal) => Promise<void>
  }) {
    this.requests = options.requests
    this.state = options.state
    this.orWhen = options.orWhen
  }
}
