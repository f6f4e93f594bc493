import { randomUUID } from 'node:crypto'
import { type KeyRing, seal, unseal } from '#platform/secrets.ts'
import type { Principal } from './principal.ts'

/** Whom a signed address speaks for. It is the whole authority of whoever opens it. */
export type Bearer = Pick<Principal, 'kind' | 'credentialId' | 'userId' | 'workspaceId'>

export interface Ticket extends Bearer {
  /** Its purpose: what the address opens. The sealed text keeps the name that processes of the version before read. */
  readonly audience: string
  readonly id: string
  readonly issuedAt: number
  readonly expiresAt: number
}

/** The one spelling that `signTicket` writes; all others of the same value are refused. */
const spelling = /^[A-Za-z0-9_-]+\.(?:0|[1-9]\d*)\.[A-Za-z0-9_-]{43}$/

export function signTicket(
  ring: KeyRing,
  purpose: string,
  bearer: Bearer,
  options: { lifetimeMs: number; now: number },
): string {
  const { kind, credentialId, userId, workspaceId } = bearer
  const ticket: Ticket = {
    audience: purpose,
    kind,
    credentialId,
    userId,
    workspaceId,
    id: randomUUID(),
    issuedAt: options.now,
    expiresAt: options.now + options.lifetimeMs,
  }
  return seal(ring, purpose, ticket)
}

/** Undefined alike for what is altered, sealed for another purpose, or too old. */
export function verifyTicket(ring: KeyRing, purpose: string, token: string, now: number): Ticket | undefined {
  if (!spelling.test(token)) return undefined
  const ticket = unseal<Ticket>(ring, purpose, token)
  return ticket?.audience === purpose && now < ticket.expiresAt ? ticket : undefined
}
