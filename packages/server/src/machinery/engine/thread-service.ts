import { type ObjectContext, object } from '@restatedev/restate-sdk'
import type { ThreadCall } from '#platform/engine-client.ts'

/** Longer than a segment may last, so that the engine never cuts a call that is merely long. */
const longerThanAnyMs = 70 * 60_000

/** `signal` says that the engine has given this attempt up. */
export type CarryThread = (threadRowId: number, call: ThreadCall, signal: AbortSignal) => Promise<void>

/**
 * Calls a worker once per segment of a chat's run, one segment of a thread at a time, and another worker when that one
 * dies. What a run has done and what it waits for are rows: nothing is journaled, and nothing waits in here. A call for
 * what is done already finds nothing to do. There is no last attempt, as the run's row decides when to give up.
 */
export function createThreadService(carry: CarryThread) {
  return object({
    name: 'Thread',
    handlers: {
      run: async (ctx: ObjectContext, call: ThreadCall): Promise<void> =>
        carry(Number(ctx.key), call, ctx.request().attemptCompletedSignal),
    },
    options: {
      inactivityTimeout: longerThanAnyMs,
      abortTimeout: longerThanAnyMs,
      journalRetention: 0,
      idempotencyRetention: 10 * 60_000,
      ingressPrivate: false,
      retryPolicy: {
        initialInterval: 50,
        maxInterval: 2000,
        exponentiationFactor: 2,
        // As good as none: the engine's own number would leave the thread shut.
        maxAttempts: 1_000_000,
        onMaxAttempts: 'kill',
      },
    },
  })
}

export type ThreadService = ReturnType<typeof createThreadService>
