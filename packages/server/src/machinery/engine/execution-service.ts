import { service } from '@restatedev/restate-sdk'
import type { ExecutionCall } from '#platform/engine-client.ts'

/** Longer than an execution may last, so that the engine never cuts a call that is merely long. */
const longerThanAnyMs = 70 * 60_000

/**
 * Hands executions to workers. The engine's part is to find a worker and, when that one dies, to call another; the work
 * itself is recorded in PostgreSQL and never repeated: whoever is called for an execution that was begun elsewhere has
 * nothing to do. Nothing is journaled.
 */
export function createExecutionService(run: (call: ExecutionCall) => Promise<void>) {
  return service({
    name: 'ExecutionRunner',
    handlers: {
      run: async (_context: unknown, call: ExecutionCall): Promise<void> => run(call),
    },
    options: {
      inactivityTimeout: longerThanAnyMs,
      abortTimeout: longerThanAnyMs,
      journalRetention: 0,
      idempotencyRetention: 10 * 60_000,
      ingressPrivate: false,
      retryPolicy: { initialInterval: 100, maxInterval: 2000, maxAttempts: 200, onMaxAttempts: 'kill' },
    },
  })
}

export type ExecutionService = ReturnType<typeof createExecutionService>
