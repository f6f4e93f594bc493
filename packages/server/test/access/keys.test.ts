import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { withDatabase } from '../../../../test/support/database.ts'
import { until } from '../../../../test/support/processes.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { createDatabase, type House, nowhere, openHouse, shiftClock } from '../support/house.ts'

let databaseUrl: string
let house: House

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
})

afterAll(() => house.close())

const use = (at: House, key: string) => at.call('GET', '/api/v1/workspaces', { key })
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('a warm key costs no database round trip', async () => {
  const person = await house.newPerson()
  const { secret } = await house.newKey(person)
  const counted = countStatements(house)
  await use(house, secret)
  const cold = counted()
  await use(house, secret)
  const warm = counted() - cold
  // The read of the workspace is the route's own; the key's check is what is saved.
  expect(warm).toBe(1)
  expect(cold).toBeGreaterThan(warm)
})

function countStatements(at: House): () => number {
  let count = 0
  const { database } = at.deps
  const hot = database.hot.bind(database)
  database.hot = (statement, values) => {
    count++
    return hot(statement, values)
  }
  return () => count
}

test('a revocation reaches other processes at once over Redis', async () => {
  const other = await openHouse({ DATABASE_URL: databaseUrl })
  try {
    const person = await house.newPerson()
    const { id, secret } = await house.newKey(person)
    expect((await use(other, secret)).status).toBe(200)
    await house.call('DELETE', `/api/v1/keys/${id}`, { token: person.token })
    await until(async () => (await use(other, secret)).status === 401, 50)
    expect((await use(house, secret)).status).toBe(401)
  } finally {
    await other.close()
  }
})

test('a revocation is obeyed within a second while Redis is away, by a process that keeps using the key', async () => {
  const lonely = { DATABASE_URL: databaseUrl, REDIS_URL: `redis://${nowhere}` }
  const [here, there] = await Promise.all([openHouse(lonely), openHouse(lonely)])
  try {
    const person = await here.newPerson()
    for (let round = 0; round < 5; round++) {
      const { id, secret } = await here.newKey(person)
      const end = Date.now() + 500 + round * 120
      while (Date.now() < end) expect((await use(there, secret)).status).toBe(200)
      await here.call('DELETE', `/api/v1/keys/${id}`, { token: person.token })
      const revoked = Date.now()
      while ((await use(there, secret)).status === 200) await wait(5)
      expectWithin(Date.now() - revoked, 1000)
    }
  } finally {
    await Promise.all([here.close(), there.close()])
  }
})

test('twenty parallel creations at the limit let exactly one through, over both ways of creation', async () => {
  const other = await openHouse({ DATABASE_URL: databaseUrl })
  try {
    for (let round = 0; round < 10; round++) {
      const person = await house.newPerson({ mode: 'byokmode' })
      const codes = await Promise.all(Array.from({ length: 10 }, () => house.newCode()))
      const attempts = codes.flatMap(({ userCode }, index) => {
        const at = index % 2 === 0 ? house : other
        const { token } = person
        return [
          at.call('POST', '/api/v1/keys', { token, body: { label: 'race' } }),
          at.call('POST', '/api/v1/activate/confirm', { token, body: { code: userCode } }),
        ]
      })
      const answers = await Promise.all(attempts)
      expect(answers.filter((answer) => answer.status < 300)).toHaveLength(1)
      const refused = answers.filter((answer) => answer.status === 403)
      expect(refused).toHaveLength(19)
      const details = { reason: 'KEY_LIMIT', limit: 1, mode: 'byokmode' }
      for (const answer of refused) expect(answer.body.error.details).toEqual(details)
      const list = await house.call('GET', '/api/v1/keys', { token: person.token })
      expect(list.body).toHaveLength(1)
    }
  } finally {
    await other.close()
  }
})

test('peppers are rotated while processes of both kinds run: behind the old one, in front of it, alone', async () => {
  const [old, fresh] = [randomBytes(32).toString('base64url'), randomBytes(32).toString('base64url')]
  const open = (peppers: string) => openHouse({ DATABASE_URL: databaseUrl, KEY_PEPPERS: peppers })
  const [before, behind, inFront] = await Promise.all([
    open(`1:${old}`),
    open(`1:${old},2:${fresh}`),
    open(`2:${fresh},1:${old}`),
  ])
  const person = await before.newPerson()
  const { id, secret } = await before.newKey(person)
  const isMoved = () =>
    withDatabase(databaseUrl, async (database) => {
      const text = 'select from api_key_secrets where key_id = $1 and pepper_version = 2'
      return (await database.query(text, [id])).rowCount === 1
    })
  expect((await use(behind, secret)).status).toBe(200)
  expect((await use(before, secret)).status).toBe(200)
  // The first use under the new pepper moves the key to it; who knows both keeps working.
  expect((await use(inFront, secret)).status).toBe(200)
  await until(isMoved, 30_000)
  await before.close()
  for (const at of [behind, inFront]) expect((await use(at, secret)).status).toBe(200)
  // Beside those that prefer the old one nobody knows the new one alone: they would move the key back.
  await behind.close()
  await until(async () => (await use(inFront, secret)).status === 200 && isMoved(), 30_000)
  const alone = await open(`2:${fresh}`)
  for (const at of [inFront, alone]) expect((await use(at, secret)).status).toBe(200)
  await Promise.all([inFront.close(), alone.close()])
})

test('a key ends with the membership of its owner', async () => {
  const [owner, member] = [await house.newPerson(), await house.newPerson()]
  const team = await house.newTeam(owner)
  const inTeam = { 'x-workspace-id': team }
  await house.addMember(owner, team, member)
  const created = await house.call('POST', '/api/v1/keys', {
    token: member.token,
    headers: inTeam,
    body: { label: 'team key' },
  })
  expect((await use(house, created.body.api_key)).body[0].id).toBe(team)
  const removed = await house.call('DELETE', `/api/v1/workspaces/current/members/${member.userId}`, {
    token: owner.token,
    headers: inTeam,
  })
  expect(removed.status).toBe(200)
  await wait(950)
  expect((await use(house, created.body.api_key)).status).toBe(401)
})

test('a key of a workspace that its owner has left does not count towards the limit', async () => {
  const [owner, member] = [await house.newPerson(), await house.newPerson({ mode: 'byokmode' })]
  const headers = { 'x-workspace-id': await house.newTeam(owner) }
  const path = '/api/v1/workspaces/current/members'
  await house.addMember(owner, headers['x-workspace-id'], member)
  await house.call('POST', '/api/v1/keys', { token: member.token, headers, body: { label: 'team' } })
  const full = await house.call('POST', '/api/v1/keys', { token: member.token, body: { label: 'own' } })
  expect(full.status).toBe(403)
  await house.call('DELETE', `${path}/${member.userId}`, { token: owner.token, headers })
  const free = await house.call('POST', '/api/v1/keys', { token: member.token, body: { label: 'own' } })
  expect(free.status).toBe(201)
})

test.each([
  ['full access with a list of scopes', { label: 'x', access: 'full', scopes: ['profile:read'] }],
  ['an unknown scope', { label: 'x', scopes: ['profile:fly'] }],
  ['a limit beyond all measure', { label: 'x', spendLimit: 1e300 }],
  ['a NUL in the label', { label: 'a\u0000b' }],
  ['a blank label', { label: '   ' }],
  ['a time that is none', { label: 'x', expiresAt: 'tomorrow' }],
])('refuses %s', async (_what, body) => {
  const person = await house.newPerson()
  const answer = await house.call('POST', '/api/v1/keys', { token: person.token, body })
  expect(answer.status).toBe(400)
  expect(answer.body.error.code).toBe('INVALID_INPUT')
})

test('an expiry is obeyed on the database clock, also by a process that has the key in memory', async () => {
  const person = await house.newPerson()
  const expiresAt = new Date(Date.now() + 60_000).toISOString()
  const { secret } = await house.newKey(person, { expiresAt })
  expect((await use(house, secret)).status).toBe(200)
  await shiftClock(databaseUrl, 61)
  try {
    await wait(950)
    expect((await use(house, secret)).status).toBe(401)
  } finally {
    await shiftClock(databaseUrl, 0)
  }
})

test('one idempotency key makes one thing, however many requests carry it at once', async () => {
  const other = await openHouse({ DATABASE_URL: databaseUrl })
  try {
    const person = await house.newPerson()
    const headers = { 'idempotency-key': 'only-once' }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? house : other).call('POST', '/api/v1/workspaces', {
          token: person.token,
          headers,
          body: { name: 'Once' },
        }),
      ),
    )
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([201]))
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1)
    const list = await house.call('GET', '/api/v1/workspaces', { token: person.token })
    expect(list.body).toHaveLength(2)
    const changed = await house.call('POST', '/api/v1/workspaces', {
      token: person.token,
      headers,
      body: { name: 'Other' },
    })
    expect(changed.status).toBe(409)
  } finally {
    await other.close()
  }
})

test('a repeated creation of a key names the key but never shows the secret again', async () => {
  const person = await house.newPerson()
  const options = { token: person.token, headers: { 'idempotency-key': 'k1' }, body: { label: 'mine' } }
  const first = await house.call('POST', '/api/v1/keys', options)
  const second = await house.call('POST', '/api/v1/keys', options)
  expect(first.status).toBe(201)
  expect(second.status).toBe(409)
  expect(second.body.error.details).toEqual({ id: String(first.body.id) })
  expect(second.text).not.toContain(first.body.api_key)
})

test('an idempotency key is forgotten after a day', async () => {
  const person = await house.newPerson()
  const options = { token: person.token, headers: { 'idempotency-key': 'daily' }, body: { name: 'Day' } }
  const first = await house.call('POST', '/api/v1/workspaces', options)
  await shiftClock(databaseUrl, 24 * 3600 + 1)
  try {
    const second = await house.call('POST', '/api/v1/workspaces', options)
    expect(second.status).toBe(201)
    expect(second.body.id).not.toBe(first.body.id)
  } finally {
    await shiftClock(databaseUrl, 0)
  }
})
