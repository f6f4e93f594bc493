import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser'
import { expect, inject } from 'vitest'
import { type Authenticator, createAuthenticator, type Knobs } from '../../support/authenticator.ts'
import { must, newPerson, type Person } from './actors.ts'
import type { Answer } from './client.ts'
import { expectRefusal } from './shapes.ts'

export interface PasskeyRecord {
  id: string
  name: string
  createdAt: string
  lastUsedAt: string | null
  backedUp: boolean
}

/** Somebody who can approve what is sensitive. */
export interface Holder extends Person {
  authenticator: Authenticator
  passkey: PasskeyRecord
}

interface PasskeyOptions {
  registration: Parameters<Authenticator['register']>[0]
  assertion: PublicKeyCredentialRequestOptionsJSON | null
}

/** Browsers refuse a passkey on an address, so a loopback one goes by its name. */
function origin(): string {
  const url = new URL(inject('baseUrl'))
  if (['127.0.0.1', '[::1]'].includes(url.hostname)) url.hostname = 'localhost'
  return url.origin
}

export function newAuthenticator(): Authenticator {
  return createAuthenticator({ origin: origin() })
}

export async function passkeyOptions(person: Person, wish: object = {}): Promise<PasskeyOptions> {
  return must(await person.post<PasskeyOptions>('/passkeys/options', wish), 200)
}

export function register(person: Person, body: object): Promise<Answer<PasskeyRecord>> {
  return person.post<PasskeyRecord>('/passkeys', body)
}

export async function listPasskeys(person: Person): Promise<PasskeyRecord[]> {
  return must(await person.get<PasskeyRecord[]>('/passkeys'), 200)
}

export async function newHolder(options: Parameters<typeof newPerson>[0] = {}): Promise<Holder> {
  const person = await newPerson(options)
  const authenticator = newAuthenticator()
  const { registration } = await passkeyOptions(person)
  const passkey = must(await register(person, { credential: authenticator.register(registration) }), 201)
  return { ...person, authenticator, passkey }
}

/** The passkey's answer to a challenge for something other than an approval. */
export async function assertFor(
  holder: Holder,
  wish: object,
  knobs?: Knobs,
): Promise<AuthenticationResponseJSON> {
  const { assertion } = await passkeyOptions(holder, wish)
  if (!assertion) throw new Error('No assertion was asked for')
  return holder.authenticator.assert(assertion, knobs)
}

/** The passkey's answer for an approval of exactly these scopes in these modes. */
export async function prove(
  holder: Holder,
  approvalId: string,
  choice: object = {},
  knobs?: Knobs,
): Promise<AuthenticationResponseJSON> {
  const answer = await holder.post<{ options: PublicKeyCredentialRequestOptionsJSON }>(
    `/approvals/${approvalId}/challenge`,
    choice,
  )
  return holder.authenticator.assert(must(answer, 200).options, knobs)
}

export function expectDeviceAuthRequired(answer: Answer): void {
  const { details } = expectRefusal(answer, 403, 'FORBIDDEN')
  expect(details).toMatchObject({ device_auth_required: true })
}
