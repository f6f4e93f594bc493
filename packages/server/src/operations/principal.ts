import type { SessionKind } from '@guildhall/contract'
import type { Approval, Mode } from '#platform/tables.ts'
import type { Actor } from './actor.ts'

/** In place of a session's id: for what goes on for a person, in person, whether or not they are signed in. */
export const inNoSession = 0

/**
 * Who a request acts for, whichever credential it came with, and how that was proved. Every principal works in exactly one workspace:
 * a key's own, the one of an OAuth grant, or the one a session chose for this request.
 */
export interface Principal extends Actor {
  readonly kind: 'key' | 'session' | 'oauth'
  readonly credentialId: number
  /** What windows are counted against: `key:12`, `session:7`. */
  readonly credential: string
  readonly mode: Mode
  readonly scopes: readonly string[]
  /** Of a key's own scopes: who let it have them, as far as is known. */
  readonly approvals?: Readonly<Record<string, Approval>>
  /** False for a key that waits for its first consent. */
  readonly activated: boolean
  /** Of a session, where it showed its token: in which of the two ways it may. */
  readonly sessionKind?: SessionKind
  /** Of an app's token: where it may be shown. Left out for what acts without one. */
  readonly audience?: 'service' | 'mcp'
}
