import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { atSize } from '../../../../test/support/sizes.ts'
import { skillText } from '../../../../test/support/skills.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/** A key that is revoked together with what it runs, however much that is and however often it takes. */
const many = 300

let house: House
let person: Person

beforeAll(async () => {
  house = await openHouse({
    DATABASE_URL: await createDatabase(),
    QUOTA_IDLE_EXECUTIONS_PER_KEY: String(many),
  })
  person = await house.newPerson()
  const files = [{ path: 'SKILL.md', content: skillText('errand', 'Run the errand.') }]
  const { body } = await as('POST', '/artifacts', { type: 'skill', files })
  expect((await as('POST', '/skills/errand/install', { artifactId: body.id })).status).toBe(200)
})

afterAll(() => house.close())

const as = (method: string, path: string, body?: unknown) =>
  house.call(method, `/api/v1${path}`, { token: person.token, ...(body === undefined ? {} : { body }) })

/** A key that has prepared so many executions. */
async function newBusyKey(count: number) {
  const key = await house.newKey(person)
  const body = { skill_slug: 'errand', input: 'Go.' }
  for (let made = 0; made < count; made += 20) {
    const prepare = () => house.call('POST', '/api/v1/executions', { key: key.secret, body })
    const answers = await Promise.all(Array.from({ length: Math.min(20, count - made) }, prepare))
    for (const { status, text } of answers) expect(status, text).toBe(200)
  }
  return key
}

async function countIdle(keyId: number): Promise<number> {
  const rows = await house.deps.database.db
    .selectFrom('executions')
    .select('id')
    .where('api_key_id', '=', keyId)
    .where('status', '=', 'idle')
    .execute()
  return rows.length
}

test('others are answered while much is stopped', async () => {
  const key = await newBusyKey(many)
  const revoking = as('DELETE', `/keys/${key.id}?stopRunning=true`)
  // Begun as soon as the first is stopped, and answered long before the last.
  await expect.poll(() => countIdle(key.id), { interval: 5, timeout: 20_000 }).toBeLessThan(many)
  await house.newPerson()
  expect(await countIdle(key.id)).toBeGreaterThan(atSize(0, many / 3))
  expect((await revoking).body).toMatchObject({ success: true, stopped: many, stoppedRuns: 0 })
  expect(await countIdle(key.id)).toBe(0)
})

test('what a key that ended still runs can be stopped, by its owner and nobody else', async () => {
  const key = await newBusyKey(3)
  const stop = `/keys/${key.id}?stopRunning=true`
  const found = await house.call('POST', '/api/v1/keys/report-leak', { body: { key: key.secret } })
  expect(found.body).toEqual({ success: true, revoked: true })
  expect(await countIdle(key.id)).toBe(3)
  const stranger = await house.newPerson()
  expect((await house.call('DELETE', `/api/v1${stop}`, { token: stranger.token })).status).toBe(404)
  expect((await as('DELETE', `/keys/${key.id}`)).status).toBe(404)
  expect((await as('DELETE', stop)).body).toMatchObject({ success: true, stopped: 3 })
  expect(await countIdle(key.id)).toBe(0)
  expect((await as('DELETE', stop)).body).toMatchObject({ success: true, stopped: 0 })
})
