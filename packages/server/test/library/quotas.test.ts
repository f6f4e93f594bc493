import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { withDatabase } from '../../../../test/support/database.ts'
import { installErrand, prepareErrand } from '../../../../test/support/executions.ts'
import { newSkillArtifact, skillText } from '../../../../test/support/skills.ts'
import { definitionOf } from '../../../../test/support/workflows.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'

const limits = { bytes: 10_000, files: 12, idle: 5, idlePerKey: 4 }
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
    QUOTA_IDLE_EXECUTIONS_PER_KEY: String(limits.idlePerKey),
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
      files: sizes.map((size, at) => ({
        path: `${at}-${Math.random()}.txt`,
        content: `${Math.random()}`.padEnd(size, 'x').slice(-size),
      })),
    },
  })

/** What was written counts no more. */
const nextHour = () => query(`update artifact_usage set written_hour = written_hour - interval '1 hour'`)

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
    expect(body.error.message).toMatch(/delete some first|after the full hour/)
  }
  expect(await usage()).toMatchObject({ bytes: 9500, counted_bytes: 9500 })
  // What is refused because of its size alone may be smaller.
  expect((await upload(house, [600])).status).toBe(400)
  expect((await upload(house, [500])).status).toBeLessThan(300)
  const id: string = taken[0]?.body.id
  expect((await house.call('DELETE', `/api/v1/artifacts/${id}`, { token: person.token })).status).toBe(200)
  await nextHour()
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

test('a key without a scope takes its share of what may wait and leaves the rest to others', async () => {
  person = await house.newPerson()
  await installErrand(house, person)
  const { id: keyId, secret } = await house.newKey(person, { scopes: ['agent:list'] })
  const prepare = (by: House, credential: object = { key: secret }) =>
    by.call('POST', '/api/v1/executions', {
      ...credential,
      body: { skill_slug: 'errand', input: 'Later.' },
    })
  const answers = await atOnce(8, prepare)
  const refused = answers.filter(({ status }) => status === 400)
  expect(refused).toHaveLength(8 - limits.idlePerKey)
  for (const { body } of refused) {
    expect(body.error.details).toEqual({ limit: limits.idlePerKey })
    expect(body.error.message).toMatch(/of a key .* start or cancel some first/)
  }
  expect((await prepare(house, { token: person.token })).status).toBe(200)
  // Now the workspace has no more room for anybody.
  expect((await prepare(house, { token: person.token })).body.error.details).toEqual({ limit: limits.idle })
  const id = answers.find(({ status }) => status === 200)?.body.id
  expect((await house.call('POST', `/api/v1/executions/${id}/cancel`, { key: secret })).status).toBe(200)
  expect((await prepare(house)).status).toBe(200)
  const { rows } = await query(
    "select count(*)::int as count from executions where api_key_id = $1 and status = 'idle'",
    [keyId],
  )
  expect(rows[0].count).toBe(limits.idlePerKey)
})

test('what a key has wait for its turn is of its share, what its runs and chats have wait is not', async () => {
  person = await house.newPerson()
  await installErrand(house, person)
  const { id: keyId, secret } = await house.newKey(person, { access: 'full' })
  // Somebody else has the slot.
  await query(
    `insert into workspace_slots (workspace_id, execution_id) values ($1, 0)
     on conflict (workspace_id) do update set execution_id = 0`,
    [person.workspaceId],
  )
  const run = () =>
    house.call('POST', '/api/v1/skills/errand/run', { key: secret, body: { input: 'Go.', ifBusy: 'queue' } })
  for (let waits = 0; waits < limits.idlePerKey; waits++) expect((await run()).status).toBe(200)
  const refused = await run()
  expect([refused.status, refused.body.limit]).toEqual([400, limits.idlePerKey])
  const { rows } = await query('select max(id) as id from executions where api_key_id = $1', [keyId])
  const [{ id }] = rows
  await query('update executions set workflow_run_id = gen_random_uuid() where id = $1', [id])
  expect((await run()).status).toBe(200)
  await query('update executions set workflow_run_id = null, chat_run_id = gen_random_uuid() where id = $1', [
    id,
  ])
  // One of its own ends, so that the workspace has room for one more.
  await query('delete from executions where id = (select max(id) from executions where api_key_id = $1)', [
    keyId,
  ])
  expect((await run()).status).toBe(200)
})

const counted = async () => {
  const { rows } = await query('select bytes::int, files::int from artifact_usage where workspace_id = $1', [
    person.workspaceId,
  ])
  return rows[0] ?? { bytes: 0, files: 0 }
}
const attach = (by: House, size: number, credential: object = { token: person.token }) =>
  by.call('POST', '/api/v1/executions', {
    ...credential,
    body: {
      skill_slug: 'errand',
      input: 'Later.',
      attachments: [{ name: 'a.txt', data: Buffer.alloc(size, `${Math.random()}`).toString('base64') }],
    },
  })

test('what comes with executions is counted, also through a key without a scope, and let go when none was started', async () => {
  person = await house.newPerson()
  await installErrand(house, person)
  const { bytes: before } = await counted()
  const { secret } = await house.newKey(person, { scopes: ['agent:list'] })
  const size = Math.floor((limits.bytes - before) / 3)
  const answers = await atOnce(4, (by) => attach(by, size, { key: secret }))
  const kept = answers.filter(({ status }) => status === 200)
  expect(kept).toHaveLength(3)
  expect(answers.find(({ status }) => status === 400)?.body.error.details).toMatchObject({
    limit: limits.bytes,
  })
  expect(await counted()).toMatchObject({ bytes: before + 3 * size })
  const { rows } = await query('select count(*)::int as count from blobs')
  expect((await attach(house, size, { key: secret })).status).toBe(400)
  expect((await query('select count(*)::int as count from blobs')).rows).toEqual(rows)
  const cancel = (id: string) => house.call('POST', `/api/v1/executions/${id}/cancel`, { key: secret })
  for (const { body } of kept) expect((await cancel(body.id)).status).toBe(200)
  // For who runs it after all; then it goes.
  expect((await attach(house, size, { key: secret })).status).toBe(400)
  await shiftClock(databaseUrl, 3700)
  const sweep = house.sweeps.find(({ table }) => table === 'attachments')
  expect(await sweep?.run()).toBe(3)
  await shiftClock(databaseUrl, 0)
  await nextHour()
  expect(await counted()).toMatchObject({ bytes: before })
  expect((await attach(house, size)).status).toBe(200)
})

test('versions of a skill are counted by their content, whatever becomes of the artifacts they came from', async () => {
  person = await house.newPerson()
  const install = async (filler: string) => {
    const files = { 'SKILL.md': `${skillText('errand', 'Run the errand.')}\n${filler}` }
    const artifact = await newSkillArtifact(house, person, files)
    const answer = await house.call('POST', '/api/v1/skills/errand/install', {
      token: person.token,
      body: { artifactId: artifact.id },
    })
    await house.call('DELETE', `/api/v1/artifacts/${artifact.id}`, { token: person.token })
    return answer.status
  }
  const statuses = []
  for (const letter of ['a', 'b', 'c', 'd']) {
    statuses.push(await install(letter.repeat(2400)))
    await nextHour()
  }
  // The fourth finds room as an artifact, and none as a version beside it.
  expect(statuses).toEqual([200, 200, 200, 400])
  const { bytes } = await counted()
  expect(bytes).toBeGreaterThan(7200)
  const restored = await house.call('POST', '/api/v1/skills/errand/versions/1/restore', {
    token: person.token,
  })
  expect(restored.status).toBe(200)
  expect(await counted()).toMatchObject({ bytes })
})

const blobBytes = async () => {
  const { rows } = await query('select coalesce(sum(size_bytes), 0)::int as bytes from blobs')
  return rows[0].bytes
}

test('what nothing refers to counts for the hour in which it was written', async () => {
  person = await house.newPerson()
  const before = await blobBytes()
  const key = { 'idempotency-key': 'one-for-all' }
  expect((await upload(house, [1000], key)).status).toBeLessThan(300)
  // Looked at before anything is stored.
  for (let times = 0; times < 4; times++) expect((await upload(house, [1000], key)).status).toBe(409)
  expect((await blobBytes()) - before).toBe(1000)
  for (let times = 0; times < 9; times++) {
    const made = await upload(house, [1000])
    expect(made.status, made.text).toBeLessThan(300)
    await house.call('DELETE', `/api/v1/artifacts/${made.body.id}`, { token: person.token })
  }
  const { status, body } = await upload(house, [1000])
  expect([status, body.error.details]).toEqual([400, { limit: limits.bytes, files: limits.files }])
  expect(body.error.message).toContain('after the full hour')
  expect((await blobBytes()) - before).toBeLessThanOrEqual(limits.bytes)
  expect(await counted()).toMatchObject({ bytes: 1000 })
  await nextHour()
  expect((await upload(house, [1000])).status).toBeLessThan(300)
})

test('definitions of workflows count for it too', async () => {
  person = await house.newPerson()
  const install = (filler: number) =>
    house.call('POST', '/api/v1/workflows/nap/install', {
      token: person.token,
      body: {
        definition: definitionOf('nap', [{ type: 'sleep', id: `s${'x'.repeat(filler)}`, duration: 1 }]),
      },
    })
  const statuses = []
  for (let times = 0; times < 60; times++) {
    statuses.push((await install(40 + times)).status)
    await house.call('DELETE', '/api/v1/workflows/nap', { token: person.token })
  }
  expect([statuses[0], statuses[1], statuses.at(-1)]).toEqual([201, 201, 400])
})

test('what is sent again counts once within the hour, and again in the next', async () => {
  person = await house.newPerson()
  const send = () =>
    house.call('POST', '/api/v1/artifacts', {
      token: person.token,
      body: { type: 'file', name: 'Notes', files: [{ path: 'a.txt', content: `${person.workspaceId}` }] },
    })
  const written = async () => {
    const { rows } = await query(
      "select written_files::int as files from artifact_usage where workspace_id = $1 and written_hour = date_trunc('hour', guild_now())",
      [person.workspaceId],
    )
    return rows[0].files
  }
  for (let times = 0; times < 3; times++) expect((await send()).status).toBeLessThan(300)
  expect(await written()).toBe(1)
  await shiftClock(databaseUrl, 3600)
  await send()
  await send()
  expect(await written()).toBe(1)
  await shiftClock(databaseUrl, 0)
})
