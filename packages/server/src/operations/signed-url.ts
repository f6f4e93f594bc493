import { randomUUID } from 'node:crypto'
import { type KeyRing, seal, unseal } from '../platform/secrets.ts'
import type { Principal } from './principal.ts'

/** Whom a signed address speaks for. It is the whole authority of whoever opens it. */
export type Bearer = Pick<Principal, 'kind' | 'credentialId' | 'userId' | 'workspaceId'>

export interface SignedNote extends Bearer {
  /** What the address opens; a note for one door opens no other. */
  readonly audience: string
  readonly id: string
  readonly issuedAt: number
  readonly expiresAt: number
}

/** The one spelling that `signNote` writes; all others of the same value are refused. */
const spelling = /^[A-Za-z0-9_-]+\.(?:0|[1-9]\d*)\.[A-Za-z0-9_-]{43}$/

export function signNote(
  ring: KeyRing,
  audience: string,
  bearer: Bearer,
  options: { lifetimeMs: number; now: number },
): string {
  const { kind, credentialId, userId, workspaceId } = bearer
  const note: SignedNote = {
    audience,
    kind,
    credentialId,
    userId,
    workspaceId,
    id: randomUUID(),
    issuedAt: options.now,
    expiresAt: options.now + options.lifetimeMs,
  }
  return seal(ring, audience, note)
}

/** Undefined alike for what is altered, meant for another door, or too old. */
export function verifyNote(
  ring: KeyRing,
  audience: string,
  token: string,
  now: number,
): SignedNote | undefined {
  if (!spelling.test(token)) return undefined
  const note = unseal<SignedNote>(ring, audience, token)
  return note?.audience === audience && now < note.expiresAt ? note : undefined
}
