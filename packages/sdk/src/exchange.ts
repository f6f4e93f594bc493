import { errorOf, parse } from './error-reader.ts'
import { ApiError, ConnectionError, TimeoutError } from './errors.ts'
import type { Operation } from './operation.ts'
import { wasNeverSent } from './retry.ts'

/** One attempt: what is sent, and how what comes back is read. */
export interface Exchange {
  readonly fetch: typeof globalThis.fetch
  readonly operation: string
  readonly url: string
  readonly init: RequestInit
  /** Must not turn up in an error, whoever wrote it. */
  readonly secret: string | undefined
  readonly signal: AbortSignal | undefined
  readonly timeoutMs: number
  /** Files and events are given unread: a file has its time too, a stream has none. */
  readonly reads: Operation<never, unknown>['answers']
  readonly onResponse: (response: Response | undefined, ms: number) => void
}

/** Sends it once. Whatever goes wrong becomes an error of ours. */
export async function exchange(request: Exchange): Promise<unknown> {
  const { secret, signal, timeoutMs, operation, reads } = request
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(), timeoutMs)
  const begun = performance.now()
  const tell = () => request.onResponse(response, performance.now() - begun)
  let response: Response | undefined
  try {
    response = await request.fetch(request.url, {
      ...request.init,
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, limit.signal]) : limit.signal,
    })
    tell()
    return await read(response, request)
  } catch (error) {
    if (!response) tell()
    if (signal?.aborted) throw signal.reason
    if (ApiError.is(error)) throw error
    const cause = holds(error, secret) ? undefined : error
    if (limit.signal.aborted)
      throw new TimeoutError(`${operation} had no answer within ${timeoutMs} ms`, 'unknown', { cause })
    throw !response && wasNeverSent(error)
      ? new ConnectionError(`${operation} cannot reach the service`, 'unsent', { cause })
      : new ConnectionError(`${operation}: the connection broke`, 'unknown', { cause })
  } finally {
    // A file still has to come; its timer keeps no program alive.
    if (response?.ok && reads === 'file') (timer as { unref?: () => void }).unref?.()
    else clearTimeout(timer)
  }
}

async function read(response: Response, { operation, reads, secret }: Exchange): Promise<unknown> {
  const { status, headers, ok } = response
  const location = headers.get('location')
  if (reads === 'redirect' && location) return { location }
  if (ok && (reads === 'file' || reads === 'events')) return response
  const text = await textOf(response)
  if (ok && (reads === 'text' || text === '')) return text
  // A redirect is no answer either: whoever follows it would carry the credential elsewhere.
  const answer = ok ? parse(text) : undefined
  if (answer !== undefined) return answer
  throw errorOf({ status, headers, operation, text: secret ? text.replaceAll(secret, '…') : text })
}

/** Far more than any answer has: exports and files are not read here. Packed, little can become more than memory holds. */
const mostCharacters = 2 ** 26

/** The whole of an answer, and no more of it than somebody would send who means well. */
export async function textOf({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  for (let text = ''; ; ) {
    const piece = (await reader?.read())?.value
    if (!piece) return text
    text += decoder.decode(piece, { stream: true })
    if (text.length > mostCharacters) {
      void reader?.cancel()
      throw new Error('Too long')
    }
  }
}

/** Whether an error of the runtime quotes the secret. */
function holds(error: unknown, secret: string | undefined, depth = 0): boolean {
  if (secret === undefined || depth > 7 || error === undefined) return false
  const { stack, cause } = Object(error)
  // As text it begins with its message, which not every runtime repeats in the stack.
  return `${error}${stack}`.includes(secret) || holds(cause, secret, depth + 1)
}
