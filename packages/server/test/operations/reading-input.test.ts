import { type Route, routes } from '@guildhall/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { newTrace } from '../support/traces.ts'

let house: House
let person: Person
let ids: Readonly<Record<string, string>>

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
  person = await house.newPerson()
  const body = { threadId: 'read' }
  await house.call('POST', '/api/v1/threads', { token: person.token, body })
  ids = { traces: await newTrace(house, person), threads: body.threadId }
})

afterAll(() => house.close())

/** Lists of one record are read of one that is there. */
const get = (path: string) => {
  const filled = path.replace(/(\w+)\/:id/, (_text, kind: string) => `${kind}/${ids[kind]}`)
  return house.call('GET', filled, { token: person.token })
}

/** Every list of the contract whose size or start is chosen by the caller. */
const lists = Object.entries<Route>(routes).flatMap(([name, { path, query }]) =>
  ['limit', 'offset'].flatMap((field) => (query?.properties[field] ? [{ name, path, field }] : [])),
)

test('the contract has such lists', () => {
  expect(lists.length).toBeGreaterThan(10)
})

describe.each(lists)('$field of $name', ({ path, field }) => {
  test('a number outside its range is read as the nearest, whatever it is', async () => {
    for (const value of [
      '0',
      '-1',
      '-99999999999999999999',
      '10001',
      '1000001',
      '9007199254740993',
      '1e30',
    ]) {
      const answer = await get(`${path}?${field}=${value}`)
      expect([value, answer.status]).toEqual([value, 200])
    }
  })

  test('what is no number is 400', async () => {
    for (const value of ['x', '', '1x', 'NaN', 'null', '[]']) {
      expect([value, (await get(`${path}?${field}=${value}`)).status]).toEqual([value, 400])
    }
    expect((await get(`${path}?${field}=1&${field}=2`)).status).toBe(400)
  })
})

test('the size and the start that were taken are told', async () => {
  const small = await get('/api/v1/executions?limit=-3&offset=-3')
  expect(small.body).toMatchObject({ limit: 1, offset: 0, hasMore: false })
  const large = await get('/api/v1/executions?limit=5000&offset=20000')
  expect(large.body).toMatchObject({ limit: 200, offset: 20_000, hasMore: false })
  expect((await get('/api/v1/skills?limit=0')).body).toMatchObject({ limit: 1, offset: 0 })
})

describe('a POST without a body is an empty one, whatever type it claims', () => {
  const types = [
    'application/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'multipart/form-data; boundary=x',
    'text/plain',
    'not a type',
    '',
  ]
  const post = (path: string, type: string, init: RequestInit = {}) =>
    fetch(house.url + path, {
      method: 'POST',
      headers: { 'x-auth-token': person.token, 'content-type': type },
      ...init,
    })

  test.each(types)('%s', async (type) => {
    expect((await post('/api/v1/activate', type)).status).toBe(200)
    expect((await post('/api/v1/passkeys/options', type)).status).toBe(200)
    const needed = await post('/api/v1/workspaces', type)
    expect([needed.status, await needed.text()]).toEqual([400, expect.stringContaining('body')])
  })

  test.each(types.filter((type) => type.includes('/')))(
    '%s, in chunks of which there are none',
    async (type) => {
      const nothing = new ReadableStream({ start: (controller) => controller.close() })
      const answer = await post('/api/v1/activate', type, { body: nothing, duplex: 'half' } as RequestInit)
      expect(answer.status).toBe(200)
    },
  )

  test.each(types.slice(1, 5))('%s with something in it is still refused', async (type) => {
    const answer = await post('/api/v1/passkeys/options', type, { body: 'purpose=register' })
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('as JSON')])
  })
})

describe('codes', () => {
  test('are read without regard to case, blanks and hyphens', async () => {
    const forms = [
      (code: string) => code,
      (code: string) => code.replace('-', ''),
      (code: string) => code.toLowerCase().replace('-', ' '),
      (code: string) => ` ${[...code.replace('-', '')].join(' ')} `,
    ]
    for (const form of forms) {
      const { userCode } = await house.newCode()
      const typed = form(userCode)
      const found = await get(`/api/v1/activate/lookup?code=${encodeURIComponent(typed)}`)
      expect([found.status, found.body.user_code]).toEqual([200, userCode])
      const denied = await house.call('POST', '/api/v1/activate/deny', {
        token: person.token,
        body: { code: typed },
      })
      expect(denied.status).toBe(200)
    }
    const { secret } = await house.newKey(person, { scopes: ['agent:list'] })
    const { body } = await house.call('POST', '/api/v1/agents/connect', { key: secret, body: {} })
    const linked = await house.call('POST', '/api/v1/agents/connect/by-code', {
      token: person.token,
      body: { code: body.link_code.replace('-', '').toLowerCase() },
    })
    expect([linked.status, linked.body.consent_id]).toEqual([200, body.consent_id])
  })

  test('one of blanks is malformed and no miss', async () => {
    const misses = async () =>
      (await house.deps.database.db.selectFrom('code_misses').selectAll().execute()).length
    const before = await misses()
    for (const code of ['   ', '-', ' - ']) {
      expect((await get(`/api/v1/activate/lookup?code=${encodeURIComponent(code)}`)).status).toBe(400)
      for (const path of ['/activate/confirm', '/activate/deny', '/agents/connect/by-code']) {
        const answer = await house.call('POST', `/api/v1${path}`, { token: person.token, body: { code } })
        expect(answer.status).toBe(400)
      }
    }
    expect(await misses()).toBe(before)
    expect((await get('/api/v1/activate/lookup?code=ZZZZZZZZ')).status).toBe(404)
    expect(await misses()).toBe(before + 1)
  })
})
