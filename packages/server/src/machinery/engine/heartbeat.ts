import { service } from '@restatedev/restate-sdk'

/**
 * The smallest thing the engine can do for us: call a worker and bring its answer back. Readiness makes this call,
 * so "ready" means that the whole path works: ingress, engine, signed request, worker. An attempt that finds no
 * worker is given up at once, otherwise every check during an outage would leave an invocation behind.
 */
export const heartbeat = service({
  name: 'Heartbeat',
  handlers: { beat: async () => ({ alive: true }) },
  options: {
    retryPolicy: { maxAttempts: 1, onMaxAttempts: 'kill' },
    journalRetention: 0,
    inactivityTimeout: 1000,
  },
})
