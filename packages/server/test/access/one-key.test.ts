import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { expectAhead } from '../../../../test/support/moments.ts'
import { busyHouse, giveGrant, keepBusy, newBusyPerson } from '../support/busy-keys.ts'
import { createDatabase, type House, newTeamWith, nowhere, openHouse } from '../support/house.ts'
import { type Ingress, openIngress } from '../support/ingress.ts'

/** One key as its person looks at it, and the permissions for a time that they end. */
let ingress: Ingress
let house: House
/** Another process, and one that hears of nothing. */
let second: House
let deaf: House
let person: Person

beforeAll(async () => {
  ingress = await openIngress()
  const env = { DATABASE_URL: await createDatabase(), ...busyHouse(ingress.url) }
  house = await openHouse(env)
  second = await openHouse(env)
  deaf = await openHouse({ ...env, REDIS_URL: `redis://${nowhere}` })
  person = await newBusyPerson(house)
})

afterAll(async () => {
  await Promise.all([house, second, deaf].map((one) => one?.close()))
  await ingress?.close()
})

const read = (keyId: number | string, { token } = person) =>
  house.call('GET', `/api/v1/keys/${keyId}`, { token })
const endGrant = (keyId: number, grantId: number, { token } = person) =>
  house.call('DELETE', `/api/v1/keys/${keyId}/grants/${grantId}`, { token })
const newKey = (scopes = ['agent:list'], who = person) => house.newKey(who, { scopes })

describe('GET /keys/:id', () => {
  test('is what the list has of the key, and what it may do and does', async () => {
    const { id, secret } = await house.newKey(person, { spendLimit: 700 })
    const listed = (await house.call('GET', '/api/v1/keys', { token: person.token })).body[0]
    expect((await read(id)).body).toEqual({
      ...listed,
      spend: { total: 0, limit: 700, period: 'total', today: 0, month: 0, reserved: 0 },
      grants: [],
      running: [],
      runs: [],
      chats: [],
      pending: 0,
      oldSecretUntil: null,
    })
    const { executionId, runId, threadId } = await keepBusy(house, person, secret)
    const { body } = await read(id)
    expect(body.running).toEqual([
      {
        executionId,
        skillName: 'errand',
        cost: 0,
        startedAt: expect.any(String),
        lastSequence: expect.any(Number),
      },
    ])
    expect(body.runs).toEqual([{ runId, name: 'nap', status: 'running' }])
    expect(body.chats).toEqual([
      { runId: expect.stringMatching(/^chat_/), threadId, agentSlug: 'assistant', status: 'working' },
    ])
    expect(body.spend.reserved).toBeGreaterThan(0)
    await house.call('DELETE', `/api/v1/keys/${id}?stopRunning=true`, { token: person.token })
  })

  test('shows grants that can be used, and no others', async () => {
    const { id, secret } = await newKey()
    const other = await newKey()
    await giveGrant(house, other.id, person)
    await giveGrant(house, id, person, { seconds: -1 })
    const used = await giveGrant(house, id, person, { scope: 'agent:message', mode: 'one_time' })
    await house.deps.database.db
      .updateTable('grants')
      .set({ consumed_at: new Date() })
      .where('id', '=', used)
      .execute()
    const body = {
      scope: 'profile:read',
      mode: 'one_time',
      reason: 'r',
      action: { summary: 's', request: { method: 'GET', path: '/api/v1/profile' } },
    }
    const asked = await house.call('POST', '/api/v1/agents/request-permission', { key: secret, body })
    expect((await read(id)).body).toMatchObject({ grants: [], pending: 1 })
    const path = `/api/v1/agents/request-permission/${asked.body.request_id}/approve`
    expect((await house.call('POST', path, { token: person.token })).status).toBe(200)
    expect((await read(id)).body).toMatchObject({ pending: 0 })
    expect((await read(id)).body.grants).toEqual([
      {
        id: expect.any(Number),
        scope: 'profile:read',
        mode: 'one_time',
        createdAt: expect.any(String),
        expiresAt: expect.any(String),
        requestId: asked.body.request_id,
        bound: { method: 'GET', path: '/api/v1/profile', bodySha256: null },
      },
    ])
  })

  test('adds up the ledger by day and month, in UTC and less refunds', async () => {
    const spender = await house.newPerson()
    const { id } = await newKey(['agent:list'], spender)
    const now = new Date()
    const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
    const lines = [
      ['reserve', 'available', 'reserved', 900, new Date(Date.UTC(year, month, 0))],
      ['settle', 'reserved', 'spent', 500, new Date(Date.UTC(year, month) - 1)],
      ['settle', 'reserved', 'spent', 100, new Date(Date.UTC(year, month))],
      ['settle', 'reserved', 'spent', 30, now],
      ['refund', 'spent', 'available', 10, now],
    ] as const
    for (const [kind, source, target, amount, at] of lines) {
      await sql`insert into ledger (user_id, kind, source, target, amount_milli_ds, key_id, at)
        values (${spender.userId}, ${kind}, ${source}, ${target}, ${amount}, ${id}, ${at})`.execute(
        house.deps.database.db,
      )
    }
    const isFirst = now.getUTCDate() === 1
    expect((await read(id, spender)).body.spend).toEqual({
      total: 0.62,
      limit: null,
      period: 'total',
      today: isFirst ? 0.12 : 0.02,
      month: 0.12,
      reserved: 0.27,
    })
  })

  test('tells until when the old secret works', async () => {
    const { id } = await newKey()
    const asked = Date.now()
    await house.call('POST', `/api/v1/keys/${id}/rotate`, { token: person.token, body: {} })
    expectAhead(Date.parse((await read(id)).body.oldSecretUntil), asked, 3_600_000)
  })

  test('is for its person alone: not for another member, not for the key itself', async () => {
    const member = await house.newPerson()
    await newTeamWith(house, person, member)
    const { id, secret } = await house.newKey(person)
    const unknown = await read(987_654_321)
    for (const answer of [await read(id, member), await read('x!'), await read('0')]) {
      expect([answer.status, answer.text]).toEqual([404, unknown.text])
    }
    expect((await house.call('GET', `/api/v1/keys/${id}`, { key: secret })).status).toBe(403)
    await house.call('DELETE', `/api/v1/keys/${id}`, { token: person.token })
    expect((await read(id)).status).toBe(404)
  })
})

describe('DELETE /keys/:id/grants/:grantId', () => {
  const use = (at: House, key: string) => at.call('GET', '/api/v1/profile', { key })
  const change = (at: House, key: string) => at.call('PATCH', '/api/v1/profile', { key, body: { name: 'M' } })

  test('ends this one and no other, once, and says so in the log', async () => {
    const { id, secret } = await newKey()
    const [one, other] = [await giveGrant(house, id, person), await giveGrant(house, id, person)]
    expect((await endGrant(id, one)).body).toEqual({ success: true })
    expect((await use(house, secret)).status).toBe(200)
    expect((await endGrant(id, one)).status).toBe(404)
    expect((await endGrant(id, other)).status).toBe(200)
    expect((await use(house, secret)).status).toBe(403)
    const { body } = await house.call('GET', '/api/v1/activity?type=grant.ended', { token: person.token })
    expect(body.items.map(({ details }: { details: unknown }) => details)).toEqual([
      { keyId: id, grantId: other, scope: 'profile:read', mode: 'session' },
      { keyId: id, grantId: one, scope: 'profile:read', mode: 'session' },
    ])
  })

  test('is not for others, and not through another key', async () => {
    const [mine, another] = [await newKey(), await newKey()]
    const grant = await giveGrant(house, mine.id, person)
    const unknown = await endGrant(mine.id, 987_654_321)
    const stranger = await house.newPerson()
    const foreign = [await endGrant(mine.id, grant, stranger), await endGrant(another.id, grant)]
    for (const answer of foreign) expect([answer.status, answer.text]).toEqual([404, unknown.text])
    expect((await use(house, mine.secret)).status).toBe(200)
  })

  test('no process believes it after the answer, even one that hears of nothing', async () => {
    for (let round = 0; round < 10; round++) {
      const { id, secret } = await newKey()
      const grant = await giveGrant(house, id, person)
      const places = [house, second, deaf]
      for (const place of places) expect((await use(place, secret)).status).toBe(200)
      let isEnded = false
      const late: number[] = []
      const users = places.map(async (place) => {
        for (let asked = 0; asked < 200 && late.length < 6; asked++) {
          const beganAfter = isEnded
          const { status } = await use(place, secret)
          if (beganAfter) late.push(status)
        }
      })
      expect((await endGrant(id, grant)).status).toBe(200)
      isEnded = true
      await Promise.all(users)
      expect(new Set(late)).toEqual(new Set([403]))
    }
  })

  test('of ending it and using it up one wins, and the other is told so', async () => {
    const outcomes = new Set<string>()
    for (let round = 0; round < 40; round++) {
      const { id, secret } = await newKey()
      const grant = await giveGrant(house, id, person, { scope: 'profile:write', mode: 'one_time' })
      const [used, ended] = await Promise.all([
        new Promise((go) => setTimeout(go, round % 4)).then(() => change(second, secret)),
        endGrant(id, grant),
      ])
      outcomes.add(`used ${used.status}, ended ${ended.status}`)
      expect((await change(second, secret)).status).toBe(403)
    }
    expect(['used 200, ended 404', 'used 403, ended 200']).toEqual(expect.arrayContaining([...outcomes]))
  })
})
