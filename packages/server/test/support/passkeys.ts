import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import { expect } from 'vitest'
import {
  type Authenticator,
  createAuthenticator,
  type Knobs,
} from '../../../../test/support/authenticator.ts'
import type { Answer, Caller, Person } from '../../../../test/support/caller.ts'

export const houseOrigin = 'http://house.test'

/** Registers a passkey for a person, who proves with `existing` that they may when it is not the first. */
export async function givePasskey(
  house: Caller,
  person: Person,
  existing?: Authenticator,
): Promise<{ authenticator: Authenticator; id: string }> {
  const authenticator = createAuthenticator({ origin: houseOrigin })
  const options = await house.call('POST', '/api/v1/passkeys/options', { token: person.token })
  const { registration, assertion } = options.body
  const answer = await house.call('POST', '/api/v1/passkeys', {
    token: person.token,
    body: {
      credential: authenticator.register(registration),
      ...(existing ? { device_auth: existing.assert(assertion) } : {}),
    },
  })
  if (answer.status !== 201) throw new Error(`no passkey: ${answer.status} ${answer.text}`)
  return { authenticator, id: answer.body.id }
}

/** A `device_auth` for what the options are asked for. */
export async function assertFor(
  house: Caller,
  person: Person,
  authenticator: Authenticator,
  input: Record<string, unknown>,
  knobs?: Knobs,
): Promise<AuthenticationResponseJSON> {
  const options = await house.call('POST', '/api/v1/passkeys/options', { token: person.token, body: input })
  if (!options.body.assertion) throw new Error(`no assertion asked for: ${options.status} ${options.text}`)
  return authenticator.assert(options.body.assertion, knobs)
}

export async function newPersonWithPasskey(house: Caller) {
  const person = await house.newPerson()
  return { person, ...(await givePasskey(house, person)) }
}

export function expectDeviceAuthRequired(answer: Answer): void {
  expect(answer.status, answer.text).toBe(403)
  expect(answer.body.error).toMatchObject({ code: 'FORBIDDEN', details: { device_auth_required: true } })
}
