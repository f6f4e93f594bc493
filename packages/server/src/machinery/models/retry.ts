import { retry } from '#platform/retry.ts'
import { type ModelError, modelErrorOf } from './failure.ts'

export interface RetryPolicy {
  /** All attempts, the first one included. */
  attempts: number
  firstDelayMs: number
  /** Also how long a provider may ask to be left alone before the call is given up instead. */
  maxDelayMs: number
}

export const standardRetries: RetryPolicy = { attempts: 5, firstDelayMs: 500, maxDelayMs: 30_000 }

/**
 * Twice as long each time, and anywhere in the upper half of that, so that many runs that failed together do not
 * come back together. Undefined when the provider wants more patience than the policy has.
 */
export function delayMs(
  policy: RetryPolicy,
  attempt: number,
  retryAfterMs: number | undefined,
  random = Math.random(),
): number | undefined {
  if (retryAfterMs !== undefined && retryAfterMs > policy.maxDelayMs) return undefined
  const backoff = Math.min(policy.maxDelayMs, policy.firstDelayMs * 2 ** (attempt - 1))
  return Math.round(Math.max(backoff * (0.5 + random / 2), retryAfterMs ?? 0))
}

/** Runs `work` until it succeeds, fails for good, or may not be repeated. An abort ends a wait at once. */
export async function withRetries<T>(
  policy: RetryPolicy,
  signal: AbortSignal,
  work: () => Promise<T>,
  beforeRetry: (failure: ModelError, attempt: number, retryInMs: number) => boolean,
): Promise<T> {
  const pauseAfter = (error: unknown, attempt: number) => {
    signal.throwIfAborted()
    const failure = modelErrorOf(error)
    if (!failure) return undefined
    const waitMs = delayMs(policy, attempt, failure.retryAfterMs)
    if (!failure.retryable || attempt >= policy.attempts || waitMs === undefined) throw failure
    if (!beforeRetry(failure, attempt, waitMs)) throw failure
    return waitMs
  }
  return retry(work, pauseAfter, signal)
}
