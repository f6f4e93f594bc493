import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../test/support/caller.ts'
import { withDatabase } from '../../../test/support/database.ts'
import { installErrand, prepareErrand } from '../../../test/support/executions.ts'
import { createDatabase, type House, openHouse } from './support/house.ts'

const limits = { bytes: 10_000, files: 12, idle: 5 }
let houses: House[]
let house: House
let person: Person
let databaseUrl: string

beforeAll(async () => {
  databaseUrl = await createDatabase()
  const env = {
    DATABASE_URL: databaseUrl,
    QUOTA_ARTIFACT_BYTES: String(limits.bytes),
    QUOTA_ARTIFACT_FILES: String(limits.files),
    QUOTA_IDLE_EXECUTIONS: String(limits.idle),
  }
  houses = [await openHouse(env), await openHouse(env)]
  house = houses[0] as House
})

afterAll(async () => {
  for (const each of houses ?? []) await each.close()
})

const query = (text: string, values: unknown[] = []) =>
  withDatabase(databaseUrl, (database) => database.query(text, values))

const upload = (by: House, sizes: number[], headers = {}) =>
  by.call('POST', '/api/v1/artifacts', {
    token: person.token,
    headers,
    body: {
      type: 'file',
      name: 'Notes',
      files: sizes.map((size, at) => ({ path: `${at}-${Math.random()}.txt`, content: 'x'.repeat(size) })),
    },
  })

const usage = async () => {
  const { rows } = await query(
    `select coalesce(sum(size_bytes), 0)::int as bytes, coalesce(sum(files_count), 0)::int as files,
       (select bytes::int from artifact_usage where workspace_id = $1) as counted_bytes,
       (select files::int from artifact_usage where workspace_id = $1) as counted_files
     from artifacts where workspace_id = $1`,
    [person.workspaceId],
  )
  return rows[0]
}

/** Sends all at once, to both processes in turn. */
const atOnce = <T>(count: number, send: (by: House) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, at) => send(houses[at % 2] as House)))

test('of uploads at once to two processes as many are taken as there is room for', async () => {
  person = await house.newPerson()
  const answers = await atOnce(16, (by) => upload(by, [1900]))
  const taken = answers.filter(({ status }) => status === 200 || status === 201)
  const refused = answers.filter(({ status }) => status === 400)
  expect([taken.length, refused.length]).toEqual([5, 11])
  for (const { body } of refused) {
    expect(body.error).toMatchObject({ code: 'INVALID_INPUT', details: { limit: limits.bytes } })
    expect(body.error.message).toContain('delete some first')
  }
  expect(await usage()).toMatchObject({ bytes: 9500, counted_bytes: 9500 })
  // What is refused because of its size alone may be smaller.
  expect((await upload(house, [600])).status).toBe(400)
  expect((await upload(house, [500])).status).toBeLessThan(300)
  const id: string = taken[0]?.body.id
  expect((await house.call('DELETE', `/api/v1/artifacts/${id}`, { token: person.token })).status).toBe(200)
  expect((await upload(house, [1900])).status).toBeLessThan(300)
  expect(await usage()).toMatchObject({ bytes: 10_000, counted_bytes: 10_000 })
  // Somebody else's workspace has room of its own.
  person = await house.newPerson()
  expect((await upload(house, [1900])).status).toBeLessThan(300)
})

test('files are counted too, and what is refused leaves nothing in the store', async () => {
  person = await house.newPerson()
  const answers = await atOnce(8, (by) => upload(by, [1, 1, 1]))
  expect(answers.filter(({ status }) => status === 400)).toHaveLength(4)
  expect(await usage()).toMatchObject({ files: 12, counted_files: 12 })
  const blobs = async () => {
    const { rows } = await query('select count(*)::int as count from blobs')
    return rows[0].count
  }
  const before = await blobs()
  const { status, body } = await upload(house, [77])
  expect([status, body.error.details]).toEqual([400, { limit: limits.files }])
  expect(await blobs()).toBe(before)
})

test('counters start from what is there, and go with the workspace', async () => {
  person = await house.newPerson()
  await upload(house, [10, 20])
  await query('delete from artifacts where workspace_id = $1', [person.workspaceId])
  expect(await usage()).toMatchObject({ counted_bytes: 0, counted_files: 0 })
  await upload(house, [10, 20])
  await query('delete from workspaces where id = $1', [person.workspaceId])
  expect(await usage()).toMatchObject({ bytes: 0, counted_bytes: null })
})

test('of executions prepared at once as many are kept as may wait', async () => {
  person = await house.newPerson()
  await installErrand(house, person)
  const prepare = (by: House) =>
    by.call('POST', '/api/v1/executions', {
      token: person.token,
      body: { skill_slug: 'errand', input: 'Later.' },
    })
  const answers = await atOnce(14, prepare)
  const refused = answers.filter(({ status }) => status === 400)
  expect(refused).toHaveLength(14 - limits.idle)
  for (const { body } of refused) expect(body.error.details).toEqual({ limit: limits.idle })
  const { rows } = await query('select count(*)::int as count from executions where workspace_id = $1', [
    person.workspaceId,
  ])
  expect(rows[0].count).toBe(limits.idle)
  const id = answers.find(({ status }) => status === 200)?.body.id
  await house.call('POST', `/api/v1/executions/${id}/cancel`, { token: person.token })
  await prepareErrand(house, person, 'Now there is room.')
  expect((await prepare(house)).status).toBe(400)
})
