import { ApiError, ConnectionError, GuildhallError } from './errors.ts'
import { StreamError } from './helper-errors.ts'
import { backoff, pause } from './retry.ts'
import { FrameParser } from './sse.ts'

/** How a stream is followed. */
export interface FollowOptions {
  /** Ends the stream, and rejects with its own reason. */
  readonly signal?: AbortSignal | undefined
  /** Silence of this length is a cut: 40,000 when not given. Heartbeats are no silence. */
  readonly idleTimeoutMs?: number | undefined
  /** How long to try in vain before giving up: 600,000 when not given. */
  readonly giveUpAfterMs?: number | undefined
}

/** What is followed: how to open it, and what its frames say. */
export interface Source<E> {
  readonly name: string
  /** Opens it after the last event that was seen. */
  open(last: number | undefined, signal: AbortSignal): Promise<Response>
  /** What a frame carries, and its place; without a place it is neither counted nor repeated. */
  read(data: string): { readonly event: E; readonly sequence: number | undefined }
  /** Whether nothing follows this event. */
  isLast(event: E): boolean
  /** Where places have no gaps, one that is left out was lost. */
  readonly isGapless: boolean
  /** An opening that gave nothing: whether there is anything to wait for. */
  hasEnded?(): Promise<boolean>
}

/**
 * The events of a source, each once and in order, until the last one. Whatever the connections do meanwhile is not the
 * reader's concern: each that breaks, falls silent or leaves something out is replaced by one that goes on after the
 * last event. Leaving the loop closes the connection.
 */
export async function* follow<E>(
  source: Source<E>,
  after: number | undefined,
  options: FollowOptions = {},
): AsyncGenerator<E, void, undefined> {
  const { signal, idleTimeoutMs = 40_000, giveUpAfterMs = 600_000 } = options
  let last = after
  let gapAfter: number | undefined
  let failures = 0
  let aliveAt = performance.now()
  for (;;) {
    signal?.throwIfAborted()
    const connection = new AbortController()
    const parser = new FrameParser()
    let failure: unknown
    let events = 0
    try {
      const both = signal ? AbortSignal.any([signal, connection.signal]) : connection.signal
      const response = await source.open(last, both)
      for await (const frame of framesOf(
        response,
        parser,
        idleTimeoutMs,
        () => (aliveAt = performance.now()),
      )) {
        const { event, sequence } = source.read(frame)
        if (sequence !== undefined && last !== undefined) {
          if (sequence <= last) continue
          if (source.isGapless && sequence > last + 1) {
            if (gapAfter === last)
              throw new StreamError(`${source.name} lacks what follows ${last}`, 'unknown')
            gapAfter = last
            break
          }
        }
        if (sequence !== undefined) last = sequence
        events++
        failures = 0
        yield event
        if (source.isLast(event)) return
      }
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      // What cannot be read as an event will not become one.
      if (!GuildhallError.is(error))
        throw new StreamError(`${source.name} cannot be read`, 'unknown', { cause: error })
      if (!isPassing(error)) throw error
      failure = error
    } finally {
      connection.abort()
    }
    if (events === 0 && failure === undefined && gapAfter !== last && (await source.hasEnded?.())) return
    if (performance.now() - aliveAt > giveUpAfterMs) {
      throw new StreamError(`${source.name} could not be read for ${giveUpAfterMs} ms`, 'unknown', {
        cause: failure,
      })
    }
    await pause(waitFor(failure, parser.retryMs, ++failures), signal)
  }
}

/** Whatever a server asks for: no window is longer, and a timer of weeks would not wait at all. */
const mostWaitMs = 60_000
/** Without an event between them. Beats are so short that they need years for it. */
const mostBytes = 2 ** 26

/** A cut costs nothing but the way back, so the first repeat comes soon. */
function waitFor(failure: unknown, retryMs: number | undefined, failures: number): number {
  const asked = ApiError.is(failure) ? failure.retryAfterSeconds : undefined
  const wait = retryMs !== undefined && failures === 1 ? Math.random() * retryMs : backoff(failures)
  return Math.min(mostWaitMs, asked !== undefined ? asked * 1000 : wait)
}

/** What another opening may not meet again. */
function isPassing(error: unknown): boolean {
  if (StreamError.is(error)) return false
  if (ConnectionError.is(error)) return true
  return ApiError.is(error) && (error.code === 'RATE_LIMITED' || error.status >= 500)
}

/** The frames of one connection. Only a read that is waited for can be late: a slow reader is not a dead server. */
async function* framesOf(
  response: Response,
  parser: FrameParser,
  idleTimeoutMs: number,
  onBytes: () => void,
): AsyncGenerator<string, void, undefined> {
  const reader = response.body?.getReader()
  if (!reader) return
  for (let bytes = 0; ; ) {
    const { done, value } = await inTime(reader.read(), idleTimeoutMs)
    if (done) return
    onBytes()
    const frames = parser.push(value)
    bytes = frames.length > 0 ? 0 : bytes + value.length
    if (bytes > mostBytes) throw new StreamError('No event comes', 'unknown')
    yield* frames
  }
}

async function inTime<T>(read: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ConnectionError('The stream fell silent', 'unknown')), ms)
  })
  try {
    return await Promise.race([read, late])
  } catch (error) {
    // Late reads reject when their connection is closed; nobody waits for them any more.
    read.catch(() => {})
    throw ConnectionError.is(error)
      ? error
      : new ConnectionError('The stream broke', 'unknown', { cause: error })
  } finally {
    clearTimeout(timer)
  }
}
