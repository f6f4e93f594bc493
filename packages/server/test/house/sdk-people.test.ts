import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { finishPairing, Guildhall, pair, startPairing } from '../../../sdk/src/index.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/** The library with a person on the other side, and two servers of which either may be asked. */
let house: House
let second: House

beforeAll(async () => {
  const databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  second = await openHouse({ DATABASE_URL: databaseUrl })
})

afterAll(async () => {
  await house.close()
  await second.close()
})

const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Each request to the next server, as a balancer does. */
function balanced(): typeof globalThis.fetch {
  let turn = 0
  return (input, init) => {
    const url = String(input).replace(house.url, turn++ % 2 === 0 ? house.url : second.url)
    return fetch(url, init)
  }
}

const decide = (person: Person, path: string, body: object = {}) =>
  second.call('POST', `/api/v1${path}`, { token: person.token, body })

test('a program is paired while a person confirms its code', async () => {
  const person = await house.newPerson()
  const paired = await pair({
    baseUrl: house.url,
    label: 'bot on build-7',
    onCode: async ({ userCode }) => {
      await later(100)
      await decide(person, '/activate/confirm', { code: userCode, access: 'full' })
    },
  })
  expect(paired).toMatchObject({ activated: true, workspace: { id: person.workspaceId } })
  const guild = new Guildhall({ baseUrl: house.url, apiKey: paired.apiKey })
  expect(await guild.workspaces.list()).toHaveLength(1)
})

test('a refused pairing, and one whose key somebody else took, say so', async () => {
  const person = await house.newPerson()
  const refused = await startPairing({ baseUrl: house.url })
  await decide(person, '/activate/deny', { code: refused.userCode })
  await expect(finishPairing(refused)).rejects.toMatchObject({ name: 'PairingError', status: 'denied' })
  await later(1100)
  const taken = await startPairing({ baseUrl: house.url })
  await decide(person, '/activate/confirm', { code: taken.userCode })
  await finishPairing(taken)
  await expect(finishPairing(taken)).rejects.toMatchObject({ status: 'consumed' })
})

async function limitedAgent(person: Person, options: object = {}) {
  const { secret } = await house.newKey(person, { scopes: ['agent:list'] })
  return new Guildhall({ baseUrl: house.url, apiKey: secret, fetch: balanced(), ...options })
}

test('a missing scope is asked for, granted, and the same request goes through', async () => {
  for (let round = 0; round < 5; round++) {
    const person = await house.newPerson()
    const asked: string[] = []
    const guild = await limitedAgent(person, {
      permissions: {
        onMissing: 'ask',
        reason: 'For the test',
        mode: 'session',
        onAsk: ({ requestId }: { requestId: string }) => {
          asked.push(requestId)
          void later(200).then(() => decide(person, `/agents/request-permission/${requestId}/approve`))
        },
      },
    })
    // Twenty at once ask once.
    const calls = Array.from({ length: 20 }, () => guild.profile.get())
    expect(await Promise.all(calls)).toHaveLength(20)
    expect(asked).toHaveLength(1)
  }
})

test('a person who says no is heard, with the reason', async () => {
  const person = await house.newPerson()
  const guild = await limitedAgent(person)
  const call = guild.profile.get({
    permission: {
      reason: 'For the test',
      onAsk: ({ requestId }) =>
        void decide(person, `/agents/request-permission/${requestId}/deny`, { reason: 'Not today' }),
    },
  })
  await expect(call).rejects.toMatchObject({ name: 'PermissionDeniedError', denyReason: 'Not today' })
})

test('who is not asked to ask does not', async () => {
  const guild = await limitedAgent(await house.newPerson())
  await expect(guild.profile.get()).rejects.toMatchObject({
    name: 'MissingScopeError',
    missingScopes: ['profile:read'],
  })
})

test('nobody answers in time: the question stands, and can be waited for again', async () => {
  const person = await house.newPerson()
  const guild = await limitedAgent(person)
  const error = await guild.permissions.ensure(['profile:read'], { waitMs: 300 }).catch((thrown) => thrown)
  expect(error).toMatchObject({ name: 'PermissionTimeoutError' })
  await decide(person, `/agents/request-permission/${error.requestId}/approve`)
  await guild.permissions.wait(error.requestId)
  await guild.permissions.ensure(['profile:read', 'agent:list'])
})

test('a grant for one request fits these bytes', async () => {
  const person = await house.newPerson()
  const guild = await limitedAgent(person)
  const permission = {
    reason: 'Once',
    mode: 'one_time' as const,
    bind: true,
    onAsk: ({ requestId }: { readonly requestId?: string }) =>
      void decide(person, `/agents/request-permission/${requestId}/approve`),
  }
  await guild.profile.get({ permission })
  await expect(guild.profile.get()).rejects.toMatchObject({ name: 'MissingScopeError' })
})

test('a list is walked while rows arrive: none twice, none of before missing', async () => {
  const person = await house.newPerson()
  const guild = new Guildhall({ baseUrl: house.url, authToken: person.token })
  const make = () => guild.artifacts.create({ type: 'file', files: [{ path: 'a.txt', content: 'a' }] })
  const before = new Set((await Promise.all(Array.from({ length: 12 }, make))).map(({ id }) => id))
  const seen: string[] = []
  for await (const { id } of guild.artifacts.list({ limit: 3 })) {
    seen.push(id)
    if (seen.length % 2 === 0) await make()
  }
  expect(new Set(seen).size).toBe(seen.length)
  expect([...before].filter((id) => !seen.includes(id))).toEqual([])
})
