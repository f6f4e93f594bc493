import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { AnswerOf, BodyOf, ParamsOf, QueryOf, Route, Routes } from '@guildhall/contract'
import type { Deps } from '../deps.ts'
import type { Access } from './access.ts'
import type { Principal } from './principal.ts'

/** What is known about the other end of the connection. */
export interface Client {
  readonly address: string
  readonly userAgent: string
  /** The client's own claim of what it is called. */
  readonly label: string | undefined
  readonly bearer: string
}

/** A file as it came in a form; its name is whatever the client said. */
export interface UploadedFile {
  readonly field: string
  readonly name: string
  readonly bytes: Buffer
}

/** What a route that answers a file gives back. */
export interface FileAnswer {
  readonly stream: Readable
  /** Left out where it is not known before the last byte. */
  readonly sizeBytes?: number
  readonly contentType: string
  readonly fileName: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface ItemsRecord {
  readonly field: string
  rest(): Readonly<Record<string, unknown>>
}

/** A body made once for many requests. */
export interface PreparedJson {
  readonly etag: string
  readonly plain: Buffer
  readonly gzip: Buffer
}

/**
 * What a route that answers `json` gives back; `items` becomes an array that is never held whole, by itself or as the
 * first field of a record whose `rest` is known at the end.
 */
export type JsonAnswer<T = unknown> =
  | { readonly value: T }
  | { readonly items: AsyncIterable<unknown>; readonly within?: ItemsRecord }
  | { readonly prepared: PreparedJson }

/** A creating request that may be repeated. */
interface Repeatable {
  readonly key: string
  readonly requestHash: Buffer
}

/** All that a handler sees of a request. No framework object, so that other doors can make the same call. */
export interface Call<R extends Route = Route> {
  readonly route: R
  readonly params: ParamsOf<R>
  readonly query: QueryOf<R>
  readonly body: BodyOf<R>
  readonly principal: R['audience'] extends 'public' ? undefined : Principal
  /** A handler that writes spends it in its transaction; what one reads is paid for when it has answered. */
  readonly access: R['audience'] extends 'public' ? undefined : Access
  readonly client: Client
  /** The files of a form; undefined when the body was JSON. */
  readonly upload: readonly UploadedFile[] | undefined
  readonly repeatable: Repeatable | undefined
  readonly deps: Deps
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal
}

type Handler<R extends Route> = (
  call: Call<R>,
) => Promise<R['answers'] extends 'json' ? JsonAnswer<AnswerOf<R>> : AnswerOf<R>>
export type Handlers<R extends Routes> = { readonly [Name in keyof R]: Handler<R[Name]> }

export interface BoundRoute {
  readonly name: string
  readonly route: Route
  readonly handler: (call: Call) => unknown
}

/** Joins handlers to their contract; a route without a handler, or with a wrong one, does not compile. */
export function bindRoutes<R extends Routes>(routes: R, handlers: Handlers<R>): BoundRoute[] {
  return Object.entries(routes).map(([name, route]) => ({
    name,
    route,
    handler: handlers[name] as unknown as (call: Call) => unknown,
  }))
}

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
