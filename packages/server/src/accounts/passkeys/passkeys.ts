import { createHash } from 'node:crypto'
import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server'
import { lockUser } from '#accounts/users/users.ts'
import { ApiError } from '#operations/errors.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { hashSecret } from '#platform/secrets.ts'
import { assertionOptions, challengeOf, challengeSeconds, verifyAssertion } from './ceremony.ts'
import { relyingParty } from './relying-party.ts'
import * as store from './store.ts'
import { hashSubject, type Subject } from './subject.ts'

export { confirmSubject, createKeySubject, modesOf, type Subject } from './subject.ts'

async function hasPasskey(db: Db, userId: string): Promise<boolean> {
  return (await store.findAnyPasskey(db, userId)) !== undefined
}

/** What the person's passkey must sign for `requireAssertion` with the same subject, within five minutes. */
export async function challengeFor(
  deps: Pick<Deps, 'config' | 'database'>,
  userId: string,
  subject: Subject,
): Promise<{ options: PublicKeyCredentialRequestOptionsJSON; expires_at: string }> {
  const { db } = deps.database
  const options = await assertionOptions(relyingParty(deps.config), await store.listPasskeys(db, userId))
  return { options, expires_at: await rememberChallenge(db, userId, subject, options.challenge) }
}

export async function rememberChallenge(db: Db, userId: string, subject: Subject, challenge: string) {
  return store.insertChallenge(db, describeChallenge(userId, subject, challenge), challengeSeconds)
}

/** Whether the challenge was good for exactly this; from now on, in this transaction, it is not. */
export async function useChallenge(tx: Tx, userId: string, subject: Subject, challenge: string) {
  return (await store.claimChallenge(tx, describeChallenge(userId, subject, challenge))) !== undefined
}

function describeChallenge(userId: string, subject: Subject, challenge: string) {
  return {
    challenge_hash: hashSecret(challenge),
    user_id: userId,
    purpose: subject.purpose,
    subject_hash: hashSubject(subject),
  }
}

/**
 * Refuses unless one of the person's passkeys has signed a challenge for exactly this subject. Call it in the
 * transaction of what it allows, before other rows are locked: the challenge is used up when that commits, and
 * stays good when it does not. Gives the name of the passkey, for the record.
 */
export async function requireAssertion(
  tx: Tx,
  deps: Pick<Deps, 'config'>,
  userId: string,
  subject: Subject,
  deviceAuth: unknown,
): Promise<string> {
  const challenge = challengeOf(deviceAuth)
  const credentialId = (deviceAuth as { id?: unknown } | undefined)?.id
  if (challenge === undefined || typeof credentialId !== 'string') throw refuse()
  // Person, challenge, passkey: one order everywhere, or two acts of one person could wait for each other.
  await lockUser(tx, userId)
  if (!(await useChallenge(tx, userId, subject, challenge))) throw refuse()
  const passkey = await store.lockPasskey(tx, userId, credentialId)
  if (!passkey) throw refuse()
  const use = await verifyAssertion(relyingParty(deps.config), deviceAuth, challenge, passkey).catch(
    (error) => {
      throw refuse(error)
    },
  )
  await store.updateUse(tx, passkey.id, use)
  return passkeyIdOf(passkey.id)
}

/** Like `requireAssertion`, for what a person without a passkey may do as well. */
export async function requireAssertionIfRegistered(
  tx: Tx,
  deps: Pick<Deps, 'config'>,
  userId: string,
  subject: Subject,
  deviceAuth: unknown,
): Promise<string | undefined> {
  await lockUser(tx, userId)
  const isRegistered = await hasPasskey(tx, userId)
  return isRegistered ? requireAssertion(tx, deps, userId, subject, deviceAuth) : undefined
}

/** One answer for all reasons: which part was wrong is nobody's business but the person's. */
function refuse(cause?: unknown): ApiError {
  return new ApiError('FORBIDDEN', {
    message: 'This needs your passkey, asserted now and for exactly this',
    details: { device_auth_required: true },
    cause,
  })
}

/** What a passkey is called in addresses. Credential ids are up to 1364 characters long, too long for those. */
export function passkeyIdOf(credentialId: string): string {
  return createHash('sha256').update(credentialId).digest('base64url').slice(0, 22)
}
