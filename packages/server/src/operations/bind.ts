import { createHash } from 'node:crypto'
import type { AnswerOf, Audience, BodyOf, ParamsOf, QueryOf, Route, Routes } from '@guildhall/contract'
import type { Deps } from '#platform/deps.ts'
import type { Access } from './access.ts'
import type { Cookies, EventsAnswer, FileAnswer, JsonAnswer, WithCookies } from './answer.ts'
import type { Authority } from './authority.ts'
import type { Principal } from './principal.ts'
import type { Bearer } from './signed-url.ts'

/** What is known about whoever asks, beside the credential. */
export interface Client {
  readonly address: string
  readonly userAgent: string
  /** The client's own claim of what it is called. */
  readonly label: string | undefined
  /** What the agent calls itself, if that is a slug. Attribution only: it decides nothing. */
  readonly agentSlug?: string | undefined
  /** How the call was made. All but `http` are made for an agent, whoever's authority it is. */
  readonly via: Via
  /** What the agent's client calls itself, where the transport is told. */
  readonly name?: string
}

export type Via = 'http' | 'mcp' | 'agent' | 'workflow'

/** What a call is a part of, when it is made for an agent. */
export interface Origin {
  readonly conversationId?: string
  readonly agentSlug?: string
  readonly runId?: string
  /** What whoever judged it saw of what is to be launched. */
  readonly definitionSha256?: string
}

/** For whatever records who did something: an agent's own name, by its claim or by who runs it. */
export function agentSlugOf({ client, origin }: Pick<Call, 'client' | 'origin'>): string | null {
  return origin?.agentSlug ?? client.agentSlug ?? null
}

/** A file as it came in a form; its name is whatever the client said. */
export interface UploadedFile {
  readonly field: string
  readonly name: string
  readonly bytes: Buffer
}

/** A creating request that may be repeated. */
interface Repeatable {
  readonly key: string
  readonly requestHash: Buffer
}

/** All that a handler sees of a request. No framework object: every transport makes the same call. */
export interface Call<R extends Route = Route> {
  readonly route: R
  readonly params: ParamsOf<R>
  readonly query: QueryOf<R>
  readonly body: BodyOf<R>
  readonly principal: PrincipalOf<R['audience']>
  /** A handler that writes spends it in its transaction; what one reads is paid for when it has answered. */
  readonly access: R['audience'] extends Nameless | 'signed' ? undefined : Access
  /**
   * Refuses whose access has ended, when that was asked a while ago: before an effect that something slow preceded. With
   * 0 it is asked however short that is ago.
   */
  confirm(believedForMs?: number): Promise<void> | undefined
  /** By which rights this is allowed, for whoever records an effect: complete once grants are spent. */
  readonly authority: Authority
  readonly client: Client
  readonly origin: Origin | undefined
  /** The last event that a reader has seen who comes back to a stream. */
  readonly lastEventId: string | undefined
  readonly cookies: R['setsCookies'] extends true ? Cookies : undefined
  /** The files of a form; undefined when the body was JSON. */
  readonly upload: readonly UploadedFile[] | undefined
  readonly repeatable: Repeatable | undefined
  readonly deps: Deps
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal
}

/** Audiences of whom nobody in particular is known. */
type Nameless = 'public' | 'operator'

type PrincipalOf<A extends Audience> = A extends Nameless
  ? undefined
  : A extends 'signed'
    ? Bearer
    : Principal

type GivenBack<R extends Route> = R['answers'] extends 'json'
  ? JsonAnswer<AnswerOf<R>>
  : R['answers'] extends 'events'
    ? EventsAnswer
    : R['answers'] extends 'either'
      ? AnswerOf<R> | EventsAnswer
      : R['answers'] extends 'file'
        ? FileAnswer
        : AnswerOf<R>

type Handler<R extends Route> = (
  call: Call<R>,
) => Promise<R['setsCookies'] extends true ? WithCookies<GivenBack<R>> : GivenBack<R>>
export type Handlers<R extends Routes> = { readonly [Name in keyof R]: Handler<R[Name]> }

export interface BoundRoute {
  readonly name: string
  readonly route: Route
  readonly handler: (call: Call) => unknown
  /** What a repeat is answered, given what was answered the first time. */
  readonly again?: ((call: Call, answer: unknown) => unknown) | undefined
}

/** For those of the routes whose repeat has something to see to before the same is answered. */
type Repeats<R extends Routes> = {
  readonly [Name in keyof R]?: (
    call: Call<R[Name]>,
    answer: AnswerOf<R[Name]>,
  ) => ReturnType<Handler<R[Name]>>
}

/** Joins handlers to their contract; a route without a handler, or with a wrong one, does not compile. */
export function bindRoutes<R extends Routes>(
  routes: R,
  handlers: Handlers<R>,
  repeats: Repeats<R> = {},
): BoundRoute[] {
  return Object.entries(routes).map(([name, route]) => ({
    name,
    route,
    handler: handlers[name] as unknown as (call: Call) => unknown,
    again: repeats[name] as BoundRoute['again'],
  }))
}

/** What a repeat under the same key must be equal to. */
export function hashRequest(
  route: Route,
  params: unknown,
  body: unknown,
  upload: readonly UploadedFile[] = [],
): Buffer {
  const text = JSON.stringify([route.method, route.path, params ?? null, body ?? null])
  const hash = createHash('sha256').update(text)
  for (const { field, name, bytes } of upload)
    hash.update(JSON.stringify([field, name, bytes.length])).update(bytes)
  return hash.digest()
}
