import { ApiError, ConnectionError, RateLimitError } from './errors.ts'
import type { Operation } from './operation.ts'

/** Whether a second request could do something that the first has done already. */
function mayRepeat(operation: Operation<never, unknown>): boolean {
  const { method = '', creates, repeatable } = operation
  return creates || repeatable || !['POST', 'PATCH'].includes(method)
}

/**
 * How long to wait before the next attempt; undefined when there must be none. What decides is what the operation does
 * and what went wrong, not the status alone: a conflict is an answer, and a workspace that is busy is no rate limit.
 */
export function delayBefore(
  attempt: number,
  operation: Operation<never, unknown>,
  failure: unknown,
  { maxRetries, maxRetryDelayMs }: { readonly maxRetries: number; readonly maxRetryDelayMs: number },
): number | undefined {
  if (attempt > maxRetries || !isWorthRepeating(operation, failure)) return undefined
  const asked = ApiError.is(failure) ? failure.retryAfterSeconds : undefined
  if (asked === undefined) return backoff(attempt)
  return asked * 1000 <= maxRetryDelayMs ? asked * 1000 : undefined
}

function isWorthRepeating(operation: Operation<never, unknown>, failure: unknown): boolean {
  if (ConnectionError.is(failure)) return failure.outcome === 'unsent' || mayRepeat(operation)
  if (RateLimitError.is(failure)) return true
  return ApiError.is(failure) && passing.includes(failure.status) && mayRepeat(operation)
}

const passing = [500, 502, 503, 504]

/** Somewhere between nothing and twice as long as before, so that many clients do not come back together. */
export function backoff(attempt: number): number {
  return Math.random() * Math.min(8000, 500 * 2 ** (attempt - 1))
}

/** Waits, and not a moment longer than the signal allows. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const end = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, ms)
    signal?.addEventListener('abort', end, { once: true })
  })
}

const codesBeforeSending: readonly unknown[] = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  // Bun's words.
  'ConnectionRefused',
  'FailedToOpenSocket',
]

/** Whether a request failed before a byte of it was sent. What nobody can tell counts as sent. */
export function wasNeverSent(error: unknown): boolean {
  const { code, cause, errors = cause ? [cause] : [] } = Object(error) as Failed
  return codesBeforeSending.includes(code) || (errors.length > 0 && errors.every(wasNeverSent))
}

interface Failed {
  readonly code?: unknown
  readonly cause?: unknown
  readonly errors?: readonly unknown[]
}
