import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { busyHouse, giveGrant, keepBusy, newBusyPerson } from '../support/busy-keys.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { type Ingress, openIngress } from '../support/ingress.ts'

/** A bad day: what ends together with a key, and several that end together. */
let ingress: Ingress
let house: House
let second: House
let person: Person

beforeAll(async () => {
  ingress = await openIngress()
  const env = { DATABASE_URL: await createDatabase(), ...busyHouse(ingress.url) }
  house = await openHouse(env)
  second = await openHouse(env)
  person = await newBusyPerson(house)
})

afterAll(async () => {
  await Promise.all([house, second].map((one) => one?.close()))
  await ingress?.close()
})

const revoke = (body: unknown, { token } = person, at = house) =>
  at.call('POST', '/api/v1/keys/revoke', { token, body })
const works = async (secret: string, at = second) =>
  (await at.call('GET', '/api/v1/agents/me', { key: secret })).status === 200
const newKeys = (count: number, who = person) =>
  Promise.all(Array.from({ length: count }, () => house.newKey(who)))
const idsOf = (keys: readonly { id: number }[]) => keys.map(({ id }) => id).toSorted((a, b) => a - b)
const nothing = { stopped: 0, stoppedRuns: 0, endedGrants: 0, droppedRequests: 0 }

async function quietFor(days: number, keys: readonly { id: number }[]): Promise<void> {
  await sql`update api_keys set created_at = guild_now() - make_interval(days => ${days}), last_used_at = null
    where id = any(${idsOf(keys)}::bigint[])`.execute(house.deps.database.db)
}

/** A key that runs one thing of each kind, may do two more things for a time, and waits for an answer. */
async function newBusyKey() {
  const key = await house.newKey(person)
  const work = await keepBusy(house, person, key.secret)
  await giveGrant(house, key.id, person)
  await giveGrant(house, key.id, person, { mode: 'one_time' })
  await giveGrant(house, key.id, person, { seconds: -1 })
  const body = { question: 'Go on?' }
  const asked = await house.call('POST', '/api/v1/agents/ask', { key: key.secret, body })
  return { ...key, ...work, askId: asked.body.ask_id as string }
}

const as = (path: string) => house.call('GET', `/api/v1${path}`, { token: person.token })

async function expectAllOver({
  executionId,
  runId,
  threadId,
  askId,
  id,
}: Awaited<ReturnType<typeof newBusyKey>>) {
  expect((await as(`/executions/${executionId}/status`)).body.status).toBe('failed')
  expect((await as(`/workflows/runs/${runId}`)).text).toContain('"status":"canceled"')
  expect((await as(`/threads/${threadId}`)).body.status).toBe('idle')
  expect((await as(`/approvals/${askId}`)).body?.status ?? 'expired').toBe('expired')
  const { db } = house.deps.database
  const left = await db.selectFrom('grants').selectAll().where('key_id', '=', id).execute()
  expect(left.filter(({ expires_at }) => Date.parse(expires_at) > Date.now())).toEqual([])
}

test('a key that is revoked with all that it runs says how much that was', async () => {
  const key = await newBusyKey()
  const answer = await house.call('DELETE', `/api/v1/keys/${key.id}?stopRunning=true`, {
    token: person.token,
  })
  expect(answer.body).toEqual({
    success: true,
    stopped: 3,
    stoppedRuns: 2,
    endedGrants: 2,
    droppedRequests: 1,
  })
  await expectAllOver(key)
})

test('grants and questions end with a key that was revoked without a word about what it runs', async () => {
  const key = await newBusyKey()
  const path = `/api/v1/keys/${key.id}`
  const answer = await house.call('DELETE', path, { token: person.token })
  expect(answer.body).toEqual({ success: true, ...nothing, endedGrants: 2, droppedRequests: 1 })
  const later = await house.call('DELETE', `${path}?stopRunning=true`, { token: person.token })
  expect(later.body).toEqual({ success: true, ...nothing, stopped: 3, stoppedRuns: 2 })
  await expectAllOver(key)
})

describe('POST /keys/revoke', () => {
  test('ends those that are named, with all that they run, in every process', async () => {
    const busy = [await newBusyKey(), await newBusyKey()]
    const [kept] = await newKeys(1)
    for (const { secret } of busy) expect(await works(secret)).toBe(true)
    const { body } = await revoke({ ids: [...idsOf(busy), ...idsOf(busy)], stopRunning: true })
    expect(body).toEqual({
      success: true,
      revoked: idsOf(busy),
      more: false,
      stopped: expect.any(Number),
      stoppedRuns: 4,
      endedGrants: 4,
      droppedRequests: 2,
    })
    // The execution of the second waited for that of the first, and then either is stopped or may not begin.
    expect([5, 6]).toContain(body.stopped)
    for (const key of busy) {
      expect(await works(key.secret)).toBe(false)
      await expectAllOver(key)
    }
    expect(await works(kept?.secret ?? '')).toBe(true)
    const { items } = (await as('/activity?type=key.revoked&limit=2')).body
    const named = items.map(({ details }: { details: { keyId: number } }) => details.keyId)
    expect(named.toSorted((a: number, b: number) => a - b)).toEqual(idsOf(busy))
  })

  test('ends none when one of them is not theirs, and does not tell which or why', async () => {
    const mine = await newKeys(3)
    const stranger = await house.newPerson()
    const [foreign] = await newKeys(1, stranger)
    const unknown = await revoke({ ids: [...idsOf(mine), 987_654_321] })
    const withForeign = await revoke({ ids: [...idsOf(mine), foreign?.id] })
    expect([withForeign.status, withForeign.text]).toEqual([404, unknown.text])
    for (const { secret } of [...mine, ...(foreign ? [foreign] : [])]) expect(await works(secret)).toBe(true)
  })

  test('can be sent again: what has ended is told as ended, and what it runs is stopped then', async () => {
    const key = await newBusyKey()
    const first = await revoke({ ids: [key.id] })
    expect(first.body).toMatchObject({ revoked: [key.id], stopped: 0, endedGrants: 2 })
    const again = await revoke({ ids: [key.id], stopRunning: true })
    const told = { success: true, revoked: [key.id], more: false, ...nothing, stopped: 3, stoppedRuns: 2 }
    expect(again.body).toEqual(told)
    const { items } = (await as('/activity?type=key.revoked')).body
    const lines = items.filter(({ details }: { details: { keyId: number } }) => details.keyId === key.id)
    expect(lines).toHaveLength(1)
  })

  test('ends those that nobody has used for 30 days, a hundred at a time', async () => {
    const sleeper = await house.newPerson()
    const [young, used, ...old] = await newKeys(105, sleeper)
    await quietFor(29, young ? [young] : [])
    await quietFor(31, [...(used ? [used] : []), ...old])
    // Used a moment ago: not dormant any more.
    expect(await works(used?.secret ?? '')).toBe(true)
    await expect
      .poll(
        async () =>
          (await house.call('GET', `/api/v1/keys/${used?.id}`, { token: sleeper.token })).body.activity,
      )
      .toBe('ACTIVE')
    const first = await revoke({ dormant: true }, sleeper)
    expect(first.body.revoked).toEqual(idsOf(old).slice(0, 100))
    expect(first.body.more).toBe(true)
    const next = await revoke({ dormant: true }, sleeper)
    expect([next.body.revoked, next.body.more]).toEqual([idsOf(old).slice(100), false])
    expect((await revoke({ dormant: true }, sleeper)).body.revoked).toEqual([])
    const left = (await house.call('GET', '/api/v1/keys', { token: sleeper.token })).body
    expect(idsOf(left)).toEqual(idsOf([young, used].filter((key) => key !== undefined)))
  })

  test('wants one of the two, and not more than it takes', async () => {
    const [key] = await newKeys(1)
    const ids = [key?.id]
    const wrong = [
      {},
      { dormant: false },
      { ids, dormant: true },
      { ids: [] },
      { ids: Array.from({ length: 101 }, (_, index) => index + 1) },
      { ids: [0] },
      { ids: ['1'] },
      { ids: [1.5] },
      { ids: [2 ** 53] },
    ]
    for (const body of wrong) expect([body, (await revoke(body)).status]).toEqual([body, 400])
    expect(await works(key?.secret ?? '')).toBe(true)
  })

  test('keys cannot, not even their own', async () => {
    const [key] = await newKeys(1)
    const answer = await house.call('POST', '/api/v1/keys/revoke', {
      key: key?.secret ?? '',
      body: { ids: [key?.id] },
    })
    expect(answer.status).toBe(403)
  })

  test('many who end the same ones in any order end each of them once', async () => {
    const keys = await newKeys(12)
    const ids = idsOf(keys)
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, turn) =>
        turn % 3 === 2
          ? house.call('DELETE', `/api/v1/keys/${ids[turn]}`, { token: person.token })
          : revoke({ ids: turn % 2 ? ids : ids.toReversed() }, person, turn % 2 ? second : house),
      ),
    )
    for (const { status, text } of answers) expect([200, 404], text).toContain(status)
    const { items } = (await as('/activity?type=key.revoked&limit=200')).body
    const lines = items.filter(({ details }: { details: { keyId: number } }) => ids.includes(details.keyId))
    expect(lines).toHaveLength(ids.length)
    for (const { secret } of keys) expect(await works(secret)).toBe(false)
  })
})
