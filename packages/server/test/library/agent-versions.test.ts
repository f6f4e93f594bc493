import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { findAgentVersion, type PinnedAgent } from '#library/agents/agents.ts'
import { migrate } from '#platform/migrate.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'

let house: House
let databaseUrl: string

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
})

afterAll(() => house.close())

const by = (who: Person) => (method: string, path: string, body?: unknown) =>
  house.call(method, `/api/v1${path}`, { token: who.token, ...(body === undefined ? {} : { body }) })

interface Version {
  versionNumber: number
  name: string
  active: boolean
  note: string | null
}

const shortOf = ({ versionNumber, name, active, note }: Version) => [versionNumber, name, active, note]

test('every change of an agent is a version, and each can be had back', async () => {
  const person = await house.newPerson()
  const call = by(person)
  await call('POST', '/agents', { slug: 'writer', name: 'One', instructions: 'Write.' })
  const limits = { maxCostPerRun: 70.5, outside: 'never' }
  const changed = await call('PATCH', '/agents/writer', { name: 'Two', tools: ['skills'], ...limits })
  expect(changed.body).toMatchObject({ versionNumber: 2, ...limits })
  await call('PATCH', '/agents/writer', { name: 'Two' })
  await call('PATCH', '/agents/writer', { instructions: '', maxCostPerRun: null })
  const restored = await call('POST', '/agents/writer/versions/2/restore')
  expect(restored.body).toMatchObject({ name: 'Two', instructions: 'Write.', versionNumber: 4, ...limits })
  // What it is already needs no version.
  expect((await call('POST', '/agents/writer/versions/4/restore')).body.versionNumber).toBe(4)
  expect((await call('GET', '/agents/writer')).body).toEqual(restored.body)
  const versions = await call('GET', `/agents/${encodeURIComponent(`${person.workspaceId}:writer`)}/versions`)
  expect(versions.body.map(shortOf)).toEqual([
    [4, 'Two', true, 'Restored from version 2'],
    [3, 'Two', false, null],
    [2, 'Two', false, null],
    [1, 'One', false, null],
  ])
  expect(versions.body[2]).toMatchObject({ ...limits, tools: ['skills'], createdBy: person.userId })
  for (const number of ['0', '5', '-1', '1.5', 'x', '99999999999'])
    expect((await call('POST', `/agents/writer/versions/${number}/restore`)).status, number).toBe(404)
  expect((await call('GET', '/agents/nobody/versions')).status).toBe(404)
  const told = (await call('GET', '/activity')).body.items[0]
  expect(told).toMatchObject({ type: 'agent.updated', details: { restoredFrom: 2, versionNumber: 4 } })
})

test.each([
  { maxCostPerRun: 0 },
  { maxCostPerRun: 1_000_001 },
  { maxCostPerRun: '70' },
  { outside: 'always' },
  { outside: null },
])('%o is refused', async (body) => {
  const call = by(await house.newPerson())
  await call('POST', '/agents', { slug: 'writer' })
  expect((await call('PATCH', '/agents/writer', body)).status).toBe(400)
  expect((await call('POST', '/agents', { slug: 'other', ...body })).status).toBe(400)
})

test('changes at the same time are versions one after the other, and none is lost', async () => {
  const call = by(await house.newPerson())
  await call('POST', '/agents', { slug: 'writer', name: 'n0' })
  const names = Array.from({ length: 8 }, (_, index) => `n${index + 1}`)
  await Promise.all(names.map((name) => call('PATCH', '/agents/writer', { name })))
  const versions = (await call('GET', '/agents/writer/versions')).body as Version[]
  expect(versions.map(({ versionNumber }) => versionNumber)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1])
  expect(versions.map(({ name }) => name).sort()).toEqual(['n0', ...names])
  expect(versions[0]).toMatchObject({ active: true, name: (await call('GET', '/agents/writer')).body.name })
})

test('the first agent has tools, and one that stops being primary has a version of that', async () => {
  const call = by(await house.newPerson())
  expect((await call('GET', '/agents')).body[0]).toMatchObject({
    tools: ['skills', 'workflows'],
    versionNumber: 1,
  })
  await call('POST', '/agents', { slug: 'writer', primary: true })
  expect((await call('GET', '/agents/assistant/versions')).body).toMatchObject([
    { versionNumber: 2, active: true },
    { versionNumber: 1, active: false, createdBy: null },
  ])
  // Restoring says nothing about who is primary.
  await call('PATCH', '/agents/assistant', { name: 'Other' })
  expect((await call('POST', '/agents/assistant/versions/1/restore')).body).toMatchObject({ primary: false })
  expect((await call('GET', '/agents')).body[0]).toMatchObject({ slug: 'writer', primary: true })
})

test('whoever began with a version keeps it, whatever becomes of the agent', async () => {
  const person = await house.newPerson()
  const call = by(person)
  const { db } = house.deps.database
  const pinned = (version: number): Promise<PinnedAgent | undefined> =>
    findAgentVersion(db, person.workspaceId, 'writer', version)
  await call('POST', '/agents', { slug: 'writer', instructions: 'First.' })
  await call('PATCH', '/agents/writer', { instructions: 'Second.' })
  expect(await pinned(1)).toMatchObject({
    instructions: 'First.',
    version_number: 1,
    tools: [],
    outside: 'ask',
  })
  await call('DELETE', '/agents/writer')
  expect(await pinned(2)).toMatchObject({ instructions: 'Second.' })
  expect((await call('GET', '/agents/writer/versions')).status).toBe(404)
  // One of the same name is another agent: its numbers go on, and what the first one was it cannot become.
  await call('POST', '/agents', { slug: 'writer', instructions: 'Third.' })
  expect((await call('GET', '/agents/writer/versions')).body).toMatchObject([
    { versionNumber: 3, active: true },
  ])
  expect((await call('POST', '/agents/writer/versions/1/restore')).status).toBe(404)
  expect(await pinned(1)).toMatchObject({ instructions: 'First.' })
  await shiftClock(databaseUrl, 3 * 86_400)
  for (const { table, run } of house.sweeps) if (table === 'agent_versions') await run()
  await shiftClock(databaseUrl, 0)
  // Then only what is there now is left.
  expect(await pinned(1)).toMatchObject({ instructions: 'Third.' })
  expect((await call('GET', '/agents/writer/versions')).body).toHaveLength(1)
  expect(await findAgentVersion(db, person.workspaceId, 'nobody', 1)).toBeUndefined()
})

test('the last hundred versions are kept', async () => {
  const person = await house.newPerson()
  const call = by(person)
  await call('POST', '/agents', { slug: 'writer' })
  await house.deps.database.db
    .updateTable('agents')
    .set({ version_number: 150 })
    .where('workspace_id', '=', person.workspaceId)
    .where('slug', '=', 'writer')
    .execute()
  await call('PATCH', '/agents/writer', { name: 'New' })
  const versions = (await call('GET', '/agents/writer/versions')).body as Version[]
  // The one before is kept too, although whoever wrote it knew of no versions.
  expect(versions.map(({ versionNumber }) => versionNumber)).toEqual([151, 150])
})

test('the migration keeps what each agent is, and gives tools to primary ones that had none', async () => {
  const admin = new pg.Client({ connectionString: inject('databaseUrl') })
  await admin.connect()
  const name = `before_versions_${process.pid}`
  await admin.query(`create database ${name}`)
  await admin.end()
  const url = new URL(databaseUrl)
  url.pathname = `/${name}`
  const older = new pg.Client({ connectionString: url.href })
  await older.connect()
  try {
    await older.query('create table migrations (name text primary key, applied_at timestamptz default now())')
    const folder = join(import.meta.dirname, '../../migrations')
    for (const file of readdirSync(folder).sort()) {
      if (file.endsWith('_agent_versions.sql')) break
      await older.query(readFileSync(join(folder, file), 'utf8'))
      await older.query('insert into migrations values ($1)', [file])
    }
    const { rows } = await older.query("insert into workspaces (kind) values ('team') returning id")
    const add = (slug: string, isPrimary: boolean, tools: string[]) =>
      older.query(
        `insert into agents (workspace_id, slug, name, description, instructions, is_primary, tools)
         values ($1, $2, $2, '', 'Help.', $3, $4)`,
        [rows[0].id, slug, isPrimary, tools],
      )
    await add('first', true, [])
    await add('second', false, [])
    await migrate(url.href)
    const agents = await older.query('select slug, tools, version_number from agents order by slug')
    expect(agents.rows).toEqual([
      { slug: 'first', tools: ['skills', 'workflows'], version_number: 2 },
      { slug: 'second', tools: [], version_number: 1 },
    ])
    const versions = await older.query(
      `select slug, version_number as number, content->>'instructions' as said, content->'tools' as tools
       from agent_versions order by slug, version_number`,
    )
    expect(versions.rows).toEqual([
      { slug: 'first', number: 1, said: 'Help.', tools: [] },
      { slug: 'first', number: 2, said: 'Help.', tools: ['skills', 'workflows'] },
      { slug: 'second', number: 1, said: 'Help.', tools: [] },
    ])
  } finally {
    await older.end()
  }
})
