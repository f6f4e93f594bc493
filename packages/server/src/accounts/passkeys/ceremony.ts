import { randomBytes } from 'node:crypto'
import {
  type AuthenticationResponseJSON,
  type AuthenticatorTransport,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server'
import { decodeAttestationObject } from '@simplewebauthn/server/helpers'
import type { RelyingParty } from './relying-party.ts'

/** What browser and authenticator are asked for, and whether what they answer is right. Nothing is stored here. */

export const challengeSeconds = 300
const serviceName = 'Guildhall'
/** EdDSA, ES256, RS256. Named, so that it does not depend on which Node a process happens to run on. */
const algorithms = [-8, -7, -257]
const transports = new Set<string>(['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'])

interface Credential {
  readonly id: string
  readonly transports: readonly string[]
}

export function registrationOptions(
  party: RelyingParty,
  user: { id: string; email: string | null; name: string | null },
  existing: readonly Credential[],
) {
  return generateRegistrationOptions({
    rpName: serviceName,
    rpID: party.id,
    userID: new TextEncoder().encode(user.id),
    userName: user.email ?? user.name ?? user.id,
    userDisplayName: user.name ?? user.email ?? '',
    challenge: freshChallenge(),
    timeout: challengeSeconds * 1000,
    attestationType: 'none',
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    excludeCredentials: existing.map(describeCredential),
    supportedAlgorithmIDs: algorithms,
  })
}

export function assertionOptions(party: RelyingParty, existing: readonly Credential[]) {
  return generateAuthenticationOptions({
    rpID: party.id,
    challenge: freshChallenge(),
    timeout: challengeSeconds * 1000,
    userVerification: 'required',
    allowCredentials: existing.map(describeCredential),
  })
}

function freshChallenge() {
  return new Uint8Array(randomBytes(32))
}

function describeCredential(credential: Credential) {
  return { id: credential.id, transports: [...credential.transports] as AuthenticatorTransport[] }
}

/** The challenge an answer claims to be for; undefined when it is no answer of a browser. */
export function challengeOf(answer: unknown): string | undefined {
  const encoded = (answer as Partial<AuthenticationResponseJSON> | undefined)?.response?.clientDataJSON
  if (typeof encoded !== 'string') return undefined
  try {
    const { challenge } = JSON.parse(Buffer.from(encoded, 'base64url').toString()) as { challenge?: unknown }
    return typeof challenge === 'string' ? challenge : undefined
  } catch {
    return undefined
  }
}

/** What is to be stored of a new passkey; throws when the answer is not right. */
export async function verifyRegistration(party: RelyingParty, answer: unknown, challenge: string) {
  const response = answer as RegistrationResponseJSON
  refuseCertificates(response)
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: [...party.origins],
    expectedRPID: party.id,
    requireUserVerification: true,
    supportedAlgorithmIDs: algorithms,
  })
  if (!verified) throw new Error('Not verified')
  const { credential, credentialBackedUp } = registrationInfo
  return {
    id: credential.id,
    public_key: Buffer.from(credential.publicKey),
    counter: credential.counter,
    transports: readTransports(credential.transports),
    backed_up: credentialBackedUp,
  }
}

/** None was asked for. To check one, the library would call the addresses that stand in it. */
function refuseCertificates(response: RegistrationResponseJSON): void {
  const object = decodeAttestationObject(
    new Uint8Array(Buffer.from(response.response.attestationObject, 'base64url')),
  )
  const format = object.get('fmt')
  const selfSigned = format === 'packed' && object.get('attStmt').get('x5c') === undefined
  if (format !== 'none' && !selfSigned) throw new Error(`Unasked attestation of format ${format}`)
}

function readTransports(claimed: unknown): string[] {
  if (!Array.isArray(claimed)) return []
  return [...new Set(claimed)].filter((transport) => transports.has(transport))
}

/** What the use changes about the passkey; throws when the answer is not right. */
export async function verifyAssertion(
  party: RelyingParty,
  answer: unknown,
  challenge: string,
  passkey: { id: string; public_key: Buffer; counter: number },
): Promise<{ counter: number; backed_up: boolean }> {
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: answer as AuthenticationResponseJSON,
    expectedChallenge: challenge,
    expectedOrigin: [...party.origins],
    expectedRPID: party.id,
    credential: {
      id: passkey.id,
      publicKey: new Uint8Array(passkey.public_key),
      // A counter that does not grow was copied: the library refuses it.
      counter: passkey.counter,
    },
    requireUserVerification: true,
  })
  if (!verified) throw new Error('Not verified')
  return { counter: authenticationInfo.newCounter, backed_up: authenticationInfo.credentialBackedUp }
}
