import type { Mode } from '../platform/tables.ts'
import type { Actor } from './actor.ts'

/**
 * Who a request acts for, whichever credential it came with, and how that was proved. Every principal works in exactly one workspace:
 * a key's own, the one of an OAuth grant, or the one a session chose for this request.
 */
export interface Principal extends Actor {
  readonly kind: 'key' | 'session' | 'oauth'
  readonly credentialId: number
  /** What windows and idempotency keys are counted against: `key:12`, `session:7`. */
  readonly credential: string
  readonly mode: Mode
  readonly scopes: readonly string[]
  /** False for a key that waits for its first consent. */
  readonly activated: boolean
}
