import type { Static, TObject, TSchema } from 'typebox'
import type { ChangeKind } from './changes.ts'
import type { ErrorCode } from './errors.ts'
import type { LimitName } from './limits.ts'
import type { Weight } from './weight.ts'

/**
 * Who may call a route:
 * - `public`: anybody; a credential that comes along is not read.
 * - `credential`: an active API key, a session or an OAuth token.
 * - `session`: a person in the app and nobody else, so that no agent can approve for itself.
 * - `key`: an API key and nothing else: what an agent asks for itself.
 * - `agent`: an API key or an OAuth token: a door behind which each call is asked for its scopes.
 * - `signed`: whoever has an address that the service signed for one of these; the address is the credential.
 * - `operator`: who runs the service, by a token of the configuration.
 */
export type Audience = 'public' | 'credential' | 'session' | 'key' | 'agent' | 'signed' | 'operator'

interface Example {
  readonly body?: unknown
  readonly answers?: Readonly<Record<number, unknown>>
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With `:name` for parameters. A workspace never stands in a path. */
  readonly path: string
  readonly summary: string
  /** What the summary leaves out: what to do with the answer, and what when it is refused. */
  readonly description: string
  /** Where clients find it: `keys.list`. No two routes have both in common. */
  readonly resource: string
  readonly verb: string
  readonly tag: string
  readonly audience: Audience
  /**
   * What reads differently once it is done, of which listeners are told. Every route says it that is no GET; nothing where
   * it depends on what it is about who may know, as of threads, which are private or not: then the feature tells.
   */
  readonly changes?: readonly ChangeKind[]
  /** What a key must hold, all of it. A session may do whatever its person may. */
  readonly scopes?: readonly string[]
  /**
   * What a key needs for whatever it did not start itself. Asked by the handler, which knows what that is, and before it
   * tells whether the thing exists.
   */
  readonly scopesBeyondOwn?: readonly string[]
  /**
   * What a key needs for the thing that is asked about, once it is known: `{skillSlug}` is a fact of it. It comes after
   * the scopes above, which say whether there is any such right and are asked before the thing is looked up.
   */
  readonly scopesFrom?: readonly string[]
  /** What the address of a `signed` route is signed for; `{name}` is a parameter of the path. */
  readonly signedFor?: string
  /** Which token of the configuration an `operator` route asks for. */
  readonly operatorToken?: 'operator' | 'metrics'
  /** Answers only requests that ask for this media type; all others go to the route of the same path. */
  readonly accept?: 'text/event-stream'
  /** What an OAuth token must name, all of it, whatever else it may do. Keys and sessions are not asked. */
  readonly oauthScopes?: readonly string[]
  /** Which subscription modes may call it, where not all. */
  readonly modes?: readonly ('byokmode' | 'paygmode' | 'basedmode')[]
  /** Leads to other operations, which ask for their own rights: an OAuth token needs no scope for the door itself. */
  readonly door?: true
  /** Served also for a key that waits for its first consent; all other routes refuse such a key. */
  readonly servesUnactivated?: true
  /** The first window is the one the rate-limit headers describe; empty for the operator's own routes. */
  readonly limits: readonly LimitName[]
  readonly params?: TObject
  readonly query?: TObject
  readonly body?: TSchema
  /** No body at all is taken as an empty one. */
  readonly optionalBody?: true
  /** Success answers by status. */
  readonly responses: Readonly<Record<number, TSchema>>
  readonly errors: readonly ErrorCode[]
  /** A POST that makes, starts or decides something: takes `Idempotency-Key`, and under one key does it once. */
  readonly creates?: true
  /** Takes `x-agent-slug`: what the agent calls itself. Recorded, and decides nothing; what is no slug is as none. */
  readonly namesAgent?: true
  /** Sees the cookies of the app's pages, and may set them: what its handler gives back says which. */
  readonly setsCookies?: true
  /** The answer holds a secret that is shown once, so a repeated creation cannot answer it again. */
  readonly answersSecret?: true
  /** Takes multipart/form-data beside JSON; its text fields are the body, its files come apart. */
  readonly uploads?: true
  /** What its body may weigh, where the usual is too little; `weightOf` says what that is. */
  readonly weight?: Partial<Weight>
  /** Where the interface gives a code another status here, beside its usual one. */
  readonly alsoStatus?: Readonly<Partial<Record<ErrorCode, number>>>
  /** Refusals that look like nothing else, by status; others of the same status are written as usual. */
  readonly oddRefusals?: Readonly<Record<number, TSchema>>
  /** Codes that this route writes flat: `{ error: "<CODE>", message, …details }`. */
  readonly flatErrors?: readonly ErrorCode[]
  /**
   * What the answer is when it is no value that is serialised whole: `json` is written as it comes or was prepared,
   * `events` stay open, and `either` is a value or events, as the body asks.
   */
  readonly answers?: 'redirect' | 'text' | 'file' | 'json' | 'events' | 'either'
  /** Answers an ETag, and 304 to who sends it back as If-None-Match while nothing has changed. */
  readonly revalidates?: true
  /**
   * How a list is cut: `cursor` goes on where the last page ended, `offset` passes over what is known, `bare` is whole.
   */
  readonly page?: 'cursor' | 'offset' | 'bare'
  /** What each event is, of an answer that is or can be a stream. */
  readonly stream?: TSchema
  /** What each message is, of a socket at the address that it answers. */
  readonly socket?: TSchema
  /** Of the body and of the answers by status; what is made of named records has theirs. */
  readonly example?: Example
}

export type Routes = Readonly<Record<string, Route>>

export function defineRoutes<const R extends Routes>(routes: R): R {
  return routes
}

type PartOf<R extends Route, P extends 'params' | 'query' | 'body'> = R[P] extends TSchema
  ? Static<R[P]>
  : undefined

export type ParamsOf<R extends Route> = PartOf<R, 'params'>
export type QueryOf<R extends Route> = PartOf<R, 'query'>
export type BodyOf<R extends Route> = PartOf<R, 'body'>

type ResponseUnion<R extends Route> = {
  [S in keyof R['responses'] & number]: { status: S; body: Static<R['responses'][S]> }
}[keyof R['responses'] & number]

/** The body where a route has one success status, `{ status, body }` where it has several. */
export type AnswerOf<R extends Route> =
  IsUnion<keyof R['responses']> extends true ? ResponseUnion<R> : ResponseUnion<R>['body']

type IsUnion<T, U = T> = T extends unknown ? ([U] extends [T] ? false : true) : never
