import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { JsonText } from '#platform/json-text.ts'
import { type ItemsRecord, itemsText } from './answer-text.ts'
import { ApiError } from './errors.ts'

/** What a route that answers a file gives back. */
export type FileAnswer = (StreamedFile | WholeFile) & {
  readonly contentType: string
  readonly fileName: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Made while it is sent. What it is made of is kept from others for as long as its reader likes. */
interface StreamedFile {
  readonly stream: Readable
}

/** There before any of it is sent, however slowly it is taken then. */
export interface WholeFile {
  /** About how long it is: that much is held for who asks, from before it is read. */
  readonly heldBytes: number
  read(): Promise<Buffer>
}

/** A body made once for many requests. */
export interface PreparedJson {
  readonly etag: string
  readonly plain: Buffer
  readonly gzip: Buffer
}

/**
 * What a route that answers `json` gives back; `items` becomes an array that is never held whole, by itself or as the
 * first field of a record whose `rest` is known at the end. Texts, also as items, are passed on as they are.
 */
export type JsonAnswer<T = unknown> =
  | { readonly value: T }
  | { readonly text: JsonText }
  | { readonly items: AsyncIterable<unknown>; readonly within?: ItemsRecord }
  | { readonly prepared: PreparedJson }

/** Where events are written to. */
export interface EventConnection {
  readonly response: ServerResponse
  /** Written with the head of the answer. */
  readonly headers: Readonly<Record<string, string | number | string[]>>
}

/** What a route that answers `events` gives back: everything is decided, and nothing is written yet. */
export interface EventsAnswer {
  /** Refuses when it came to an end meanwhile. */
  open(connection: EventConnection): void
  /** Instead of opening, when there is nobody to read any more. */
  abandon(): void
}

/** What becomes of a cookie of the app's pages. */
export interface CookieChange {
  readonly cookie: 'session' | 'signIn'
  readonly value: string
  /** How long it is kept; 0 to have it forgotten. */
  readonly seconds: number
}

/** The cookies of the app's pages, as a browser sent them. */
export interface Cookies {
  /** The token of its session. */
  readonly session?: string | undefined
  /** By which a browser is known that has begun to sign in. */
  readonly signIn?: string | undefined
  /** Whether a page of another site sent the browser here, as far as the browser says. */
  readonly isForeign?: boolean
}

/** What a route that sets cookies gives back. */
export interface WithCookies<T = unknown> {
  readonly answer: T
  readonly cookies: readonly CookieChange[]
}

/** What an operation answers, the same for every transport. A value is the text that its schema makes of it. */
export type Answer = AnswerBody & { readonly cookies?: readonly CookieChange[] }

type AnswerBody =
  | { readonly kind: 'value'; readonly status: number; readonly text: string }
  | { readonly kind: 'pieces'; readonly text: JsonText }
  | { readonly kind: 'items'; readonly items: AsyncIterable<unknown>; readonly within?: ItemsRecord }
  | { readonly kind: 'prepared'; readonly prepared: PreparedJson }
  | { readonly kind: 'file'; readonly file: FileAnswer }
  | { readonly kind: 'events'; readonly events: EventsAnswer }
  | { readonly kind: 'redirect'; readonly location: string }
  | { readonly kind: 'text'; readonly text: string }

/** An answer that was read to its end: a value as JSON gives it, or the bytes of a file. */
export type Collected =
  | { readonly kind: 'value'; readonly status: number; readonly value: unknown }
  | {
      readonly kind: 'bytes'
      readonly contentType: string
      readonly fileName: string
      readonly bytes: Buffer
    }

/** More than who asked can use; over HTTP it could be had. */
export class AnswerTooLarge extends ApiError {
  constructor(maxBytes: number) {
    super('INVALID_INPUT', {
      message: `The answer has more than ${maxBytes} bytes; ask for less of it, with limit or a filter`,
      details: { limit: maxBytes },
    })
  }
}

/**
 * For callers that cannot take an answer bit by bit: all of it, or a refusal as soon as there is more of it than they
 * can use. Streams of events have no end to wait for.
 */
export async function collect(answer: Answer, maxBytes: number): Promise<Collected> {
  switch (answer.kind) {
    case 'value':
      return parsed(bounded(answer.text, maxBytes), answer.status)
    case 'prepared':
      return parsed(bounded(answer.prepared.plain.toString(), maxBytes))
    case 'pieces':
      if (answer.text.length > maxBytes) throw new AnswerTooLarge(maxBytes)
      return parsed(bounded(String(answer.text), maxBytes))
    case 'items':
      return parsed((await gatherBytes(itemsText(answer.items, answer.within), maxBytes)).toString())
    case 'file': {
      const { contentType, fileName } = answer.file
      return { kind: 'bytes', contentType, fileName, bytes: await fileBytes(answer.file, maxBytes) }
    }
    case 'redirect':
      return { kind: 'value', status: 302, value: { location: answer.location } }
    case 'text':
      return { kind: 'value', status: 200, value: bounded(answer.text, maxBytes) }
    case 'events':
      answer.events.abandon()
      throw new ApiError('INVALID_INPUT', {
        message: 'This operation answers a stream of events, which cannot be collected; ask for its state',
      })
  }
}

function parsed(text: string, status = 200): Collected {
  return { kind: 'value', status, value: text === '' ? undefined : JSON.parse(text) }
}

function bounded(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) > maxBytes) throw new AnswerTooLarge(maxBytes)
  return text
}

async function fileBytes(file: FileAnswer, maxBytes: number): Promise<Buffer> {
  if ('stream' in file) return gatherBytes(file.stream, maxBytes)
  if (file.heldBytes > maxBytes) throw new AnswerTooLarge(maxBytes)
  const bytes = await file.read()
  if (bytes.length > maxBytes) throw new AnswerTooLarge(maxBytes)
  return bytes
}

async function gatherBytes(chunks: AsyncIterable<string | Buffer>, maxBytes: number): Promise<Buffer> {
  const kept: Buffer[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    const buffer = Buffer.from(chunk)
    bytes += buffer.length
    // Leaving the loop ends the stream.
    if (bytes > maxBytes) throw new AnswerTooLarge(maxBytes)
    kept.push(buffer)
  }
  return Buffer.concat(kept)
}
