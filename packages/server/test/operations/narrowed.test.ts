import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { withDatabase } from '../../../../test/support/database.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'
import { beginLate } from '../support/late-request.ts'

/** A key that loses what it had while its request is on its way, or comes back for what it was granted once. */
let house: House
let databaseUrl: string
let person: Person

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  person = await house.newPerson()
})

afterAll(() => house?.close())

const path = '/api/v1/artifacts'
const scope = 'workspace:files:write'
const bodyOf = (content: string) => JSON.stringify({ type: 'file', files: [{ path: 'a.txt', content }] })
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
/** More than a credential is believed for. */
const lateMs = 1000

async function grantOnce(keyId: number, boundTo?: string): Promise<void> {
  await house.deps.database.db
    .insertInto('grants')
    .values({
      key_id: keyId,
      workspace_id: person.workspaceId,
      scope,
      mode: 'one_time',
      expires_at: new Date(Date.now() + 300_000),
      bound_method: boundTo === undefined ? null : 'POST',
      bound_path: boundTo === undefined ? null : path,
      bound_body_sha256: boundTo ?? null,
      request_id: null,
      spent_for: null,
    })
    .execute()
}

async function spentOf(keyId: number): Promise<number> {
  const { db } = house.deps.database
  const rows = await db.selectFrom('grants').select('consumed_at').where('key_id', '=', keyId).execute()
  return rows.filter(({ consumed_at }) => consumed_at !== null).length
}

/** Takes everything from a key but one grant, and waits until nobody believes it any more. */
async function narrow(id: number, boundTo?: string): Promise<void> {
  const { db } = house.deps.database
  await db.updateTable('api_keys').set({ scopes: [] }).where('id', '=', id).execute()
  await grantOnce(id, boundTo)
  await wait(lateMs)
}

/** Requests of a key with full access that is left with nothing but one grant before their bodies are there. */
async function sendNarrowed(bodies: readonly string[], boundTo?: string) {
  const { id, secret } = await house.newKey(person, { access: 'full' })
  const begin = (body: string) =>
    beginLate(house.url + path, { method: 'POST', headers: { 'x-api-key': secret }, body })
  const late = await Promise.all(bodies.map(begin))
  // Until all of them have been admitted, who it is is known.
  await wait(200)
  await narrow(id, boundTo)
  const answers = await Promise.all(late.map(({ finish }) => finish()))
  return { statuses: answers.map(({ status }) => status).sort(), spent: await spentOf(id) }
}

test('a grant for one use has one effect, also for requests that had been admitted without it', async () => {
  const narrowed = await sendNarrowed(['one', 'two', 'three'].map(bodyOf))
  expect(narrowed).toEqual({ statuses: [201, 403, 403], spent: 1 })
})

test('nor for requests that were being handled already', async () => {
  const { id, secret: key } = await house.newKey(person, { access: 'full' })
  const answers = await withDatabase(databaseUrl, async (client) => {
    await client.query('begin')
    await client.query('lock table idempotency_keys in access exclusive mode')
    const sent = ['one', 'two', 'three'].map((content) =>
      house.call('POST', path, {
        key,
        headers: { 'idempotency-key': randomUUID() },
        body: JSON.parse(bodyOf(content)),
      }),
    )
    const waiting = `select from pg_locks where not granted and relation = 'idempotency_keys'::regclass`
    await expect.poll(async () => (await client.query(waiting)).rowCount).toBe(3)
    await narrow(id)
    await client.query('commit')
    return Promise.all(sent)
  })
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 403, 403])
  expect(await spentOf(id)).toBe(1)
})

test('a grant that is bound to no body is not good for one that was admitted without it', async () => {
  expect(await sendNarrowed([bodyOf('other')], hashOf(''))).toEqual({ statuses: [403], spent: 0 })
})

test('a grant that is bound to a body is good for it', async () => {
  const body = bodyOf('this')
  expect(await sendNarrowed([body], hashOf(body))).toEqual({ statuses: [201], spent: 1 })
})

test('a narrow key takes no Idempotency-Key from its owner, nor from another key', async () => {
  const headers = { 'idempotency-key': 'deploy-1' }
  const [narrow, other] = [await house.newKey(person, { scopes: ['agent:list'] }), await house.newKey(person)]
  const ask = { question: 'May I?', choices: [{ id: 'yes', label: 'Yes', kind: 'answer' }] }
  const asked = await house.call('POST', '/api/v1/agents/ask', { key: narrow.secret, body: ask, headers })
  expect(asked.status, asked.text).toBe(202)
  const body = bodyOf('the owner')
  const made = await Promise.all([
    house.call('POST', path, { token: person.token, body, headers }),
    house.call('POST', path, { key: other.secret, body, headers }),
  ])
  expect(made.map(({ status }) => status)).toEqual([201, 201])
  expect(made[0]?.body.id).not.toBe(made[1]?.body.id)
})

test('the sessions of a person have their keys together', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  const { email } = person
  const again = await house.newPerson({ email })
  expect(again.userId).toBe(person.userId)
  const make = ({ token }: Person) => house.call('POST', path, { token, body: bodyOf('once'), headers })
  const [first, repeat] = [await make(person), await make(again)]
  expect(first.status, first.text).toBe(201)
  expect(repeat.text).toBe(first.text)
})

// Last: the clock of this database stays ahead.
test('what was granted once and spent opens nothing more, but to the repeat that it was spent on', async () => {
  const { id, secret } = await house.newKey(person, { scopes: ['trace:write'] })
  await grantOnce(id)
  const headers = { 'idempotency-key': randomUUID() }
  const make = (body: string) => house.call('POST', path, { key: secret, body, headers })
  const first = await make(bodyOf('granted'))
  expect(first.status, first.text).toBe(201)
  expect((await make(bodyOf('granted'))).text).toBe(first.text)
  // The handler would say 404 of it.
  const install = () => {
    const body = { artifactId: randomUUID() }
    return house.call('POST', '/api/v1/skills/x/install', { key: secret, body, headers })
  }
  expect((await install()).status).toBe(409)
  await shiftClock(databaseUrl, 24 * 3600 + 60)
  expect((await install()).status).toBe(403)
  expect((await make(bodyOf('granted'))).status).toBe(403)
  expect(await spentOf(id)).toBe(1)
})
