import type { KeyTouched, TouchedKind } from '@guildhall/contract'
import { type CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sumSpentOfKeys, sumSpentSince } from '#accounts/billing/billing.ts'
import type { Tables } from '#platform/tables.ts'
import { touchReaders } from '#touched.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { skillText } from '../../../../test/support/skills.ts'
import { definitionOf } from '../../../../test/support/workflows.ts'
import { busyHouse, keepBusy, newBusyPerson } from '../support/busy-keys.ts'
import { createDatabase, type House, newTeamWith, openHouse, shiftClock } from '../support/house.ts'
import { type Ingress, openIngress } from '../support/ingress.ts'
import { countStatements } from '../support/statement-counter.ts'

/** What a key spent and did, as its person is told of it. */
let ingress: Ingress
let house: House
let databaseUrl: string

beforeAll(async () => {
  ingress = await openIngress()
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl, ...busyHouse(ingress.url) })
})

afterAll(async () => {
  await house?.close()
  await ingress?.close()
})

const hostile = '<img src=x onerror=alert(1)>\'"; drop table activity --'

const read = (keyId: number | string, { token }: Person, query = '') =>
  house.call('GET', `/api/v1/keys/${keyId}/touched${query}`, { token })

async function touchedBy(keyId: number, person: Person, query?: string): Promise<KeyTouched> {
  const answer = await read(keyId, person, query)
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

const groupOf = ({ groups }: KeyTouched, kind: TouchedKind) => groups.find((group) => group.kind === kind)
const undoOf = (touched: KeyTouched, kind: TouchedKind) =>
  Object.fromEntries((groupOf(touched, kind)?.items ?? []).map(({ title, undo }) => [title, undo]))

/** An agent of a person's own that does one thing of every kind. */
async function newTracks(name: string) {
  const person = await newBusyPerson(house)
  const { id, secret: key } = await house.newKey(person, { label: name })
  const act = async (method: string, path: string, body?: unknown) => {
    const answer = await house.call(method, `/api/v1${path}`, {
      key,
      ...(body === undefined ? {} : { body }),
    })
    expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300)
    return answer.body
  }
  const bundle = (slug: string, text: string) => [{ path: 'SKILL.md', content: skillText(slug, text) }]
  const files = [{ path: 'notes.md', content: name }]
  await act('POST', '/artifacts', { type: 'file', name: hostile, files })
  const gone = await act('POST', '/artifacts', { type: 'file', name: 'gone', files })
  await act('DELETE', `/artifacts/${gone.id}`)
  for (const [slug, text] of [
    ['fresh', 'One.'],
    ['errand', 'Changed.'],
    ['errand', 'Changed again.'],
  ] as const) {
    const made = await act('POST', '/artifacts', { type: 'skill', files: bundle(slug, text) })
    await act('POST', `/skills/${slug}/install`, { artifactId: made.id })
  }
  const definition = definitionOf('brief', [{ type: 'sleep', id: 's', duration: 60_000 }])
  await act('POST', '/workflows/brief/install', { definition })
  await act('POST', '/agents', { slug: 'writer', name: 'Writer' })
  await act('PATCH', '/agents/writer', { description: 'Writes.' })
  await act('PATCH', '/agents/assistant', { description: 'Helps.' })
  await act('POST', '/agents', { slug: 'brief', name: 'Brief' })
  await act('DELETE', '/agents/brief')
  const work = await keepBusy(house, person, key)
  const [trace] = (await act('GET', '/traces')).items
  const events = [{ type: 'agent.text', payload: { content: [{ type: 'text', text: 'Seen.' }] } }]
  for (let turn = 0; turn < 3; turn++) await act('POST', `/traces/${trace.id}/events`, { events })
  return { person, id, key, act, ...work }
}

type Tracks = Awaited<ReturnType<typeof newTracks>>

describe('GET /keys/:id/touched', () => {
  let ours: Tracks
  let theirs: Tracks

  beforeAll(async () => {
    ours = await newTracks('Ours')
    theirs = await newTracks('Theirs')
  })

  test('tells what a key did of every kind, and nothing of another one', async () => {
    for (const { id, person, executionId, runId } of [ours, theirs]) {
      const touched = await touchedBy(id, person)
      expect(touched.key).toEqual({ id, label: expect.stringMatching(/Ours|Theirs/), revokedAt: null })
      expect(Date.parse(touched.until) - Date.parse(touched.since)).toBe(86_400_000)
      expect(touched.groups.map(({ kind, count }) => [kind, count])).toEqual([
        ['execution', 1],
        ['workflow-run', 1],
        ['chat', 1],
        ['skill', 2],
        ['workflow', 1],
        ['agent', 3],
        ['artifact', 5],
        ['trace', 1],
      ])
      expect(groupOf(touched, 'execution')?.items).toEqual([
        { id: executionId, title: 'errand', at: expect.any(String), undo: 'cancel' },
      ])
      expect(groupOf(touched, 'workflow-run')?.items).toEqual([
        { id: runId, title: 'nap', at: expect.any(String), undo: 'cancel' },
      ])
      expect(undoOf(touched, 'chat')).toEqual({ assistant: 'cancel' })
      expect(undoOf(touched, 'skill')).toEqual({ fresh: 'undo', errand: 'restore' })
      expect(undoOf(touched, 'workflow')).toEqual({ brief: 'undo' })
      expect(undoOf(touched, 'agent')).toEqual({ writer: 'undo', assistant: 'restore', brief: null })
      expect(undoOf(touched, 'artifact')).toMatchObject({ gone: null, [hostile]: 'undo' })
      expect(touched.addresses).toEqual([
        { ip: '127.0.0.1', firstAt: expect.any(String), lastAt: expect.any(String) },
      ])
    }
  })

  test('is for its person alone: not for another member, not for the key itself', async () => {
    const member = await house.newPerson()
    await newTeamWith(house, ours.person, member)
    const unknown = await read(987_654_321, ours.person)
    expect(unknown.status).toBe(404)
    const foreign = [
      await read(ours.id, member),
      await read(ours.id, theirs.person),
      await read(theirs.id, ours.person),
      await read('x!', ours.person),
    ]
    for (const answer of foreign) expect([answer.status, answer.text]).toEqual([404, unknown.text])
    expect((await house.call('GET', `/api/v1/keys/${ours.id}/touched`, { key: ours.key })).status).toBe(403)
  })

  test('of a revoked key it still tells, with nothing left that goes on', async () => {
    const { id, person, key } = await newTracks('Revoked')
    const before = await touchedBy(id, person)
    await house.call('DELETE', `/api/v1/keys/${id}?stopRunning=true`, { token: person.token })
    expect((await house.call('GET', '/api/v1/profile', { key })).status).toBe(401)
    expect((await house.call('GET', `/api/v1/keys/${id}`, { token: person.token })).status).toBe(404)
    const after = await touchedBy(id, person)
    expect(after.key.revokedAt).toEqual(expect.any(String))
    expect(after.groups.map(({ kind, count }) => [kind, count])).toEqual(
      before.groups.map(({ kind, count }) => [kind, count]),
    )
    for (const kind of ['execution', 'workflow-run', 'chat'] as const)
      expect(Object.values(undoOf(after, kind))).toEqual([null])
    expect(undoOf(after, 'skill')).toEqual({ fresh: 'undo', errand: 'restore' })
  })

  test('what was allowed is told with what of it still holds', async () => {
    const { person } = ours
    const { id, secret: key } = await house.newKey(person, { scopes: ['agent:list'] })
    const ids: string[] = []
    for (const [scope, mode] of [
      ['profile:read', 'persistent'],
      ['memory:read', 'session'],
      ['billing:read', 'one_time'],
      ['agent:message', 'session'],
    ]) {
      const body = { scope, mode, reason: 'r' }
      const asked = await house.call('POST', '/api/v1/agents/request-permission', { key, body })
      ids.push(asked.body.request_id)
      const verb = scope === 'agent:message' ? 'deny' : 'approve'
      const path = `/api/v1/agents/request-permission/${asked.body.request_id}/${verb}`
      const decided = await house.call('POST', path, { token: person.token, body: {} })
      expect(decided.status, decided.text).toBe(200)
    }
    expect((await house.call('GET', '/api/v1/billing', { key })).status).toBe(200)
    const touched = await touchedBy(id, person)
    expect(groupOf(touched, 'permission')?.count).toBe(3)
    expect(undoOf(touched, 'permission')).toEqual({
      'profile:read': 'undo',
      'memory:read': 'undo',
      'billing:read': null,
    })
    await house.call('DELETE', `/api/v1/keys/${id}`, { token: person.token })
    expect(new Set(Object.values(undoOf(await touchedBy(id, person), 'permission')))).toEqual(new Set([null]))
  })

  test('looks back as far as is asked, and at most 30 days', async () => {
    const { id, person } = ours
    const day = 86_400_000
    const since = new Date(Date.now() - 3 * day).toISOString()
    expect((await touchedBy(id, person, `?since=${since}`)).since).toBe(since)
    const far = await touchedBy(id, person, '?since=2001-01-01')
    expect(Date.parse(far.until) - Date.parse(far.since)).toBe(30 * day)
    expect(
      (await touchedBy(id, person, `?since=${new Date(Date.now() + day).toISOString()}`)).groups,
    ).toEqual([])
    expect((await read(id, person, '?since=yesterday')).status).toBe(400)
    await shiftClock(databaseUrl, 2 * 86_400)
    expect((await touchedBy(id, person)).groups).toEqual([])
    expect((await touchedBy(id, person, `?since=${since}`)).groups).toHaveLength(8)
    await shiftClock(databaseUrl, 31 * 86_400)
    for (const { table, run } of house.sweeps) if (table === 'key_addresses') await run()
    await shiftClock(databaseUrl, 0)
    expect((await touchedBy(id, person)).addresses).toEqual([])
  })

  test('shows the newest 20 and counts all', async () => {
    const person = await newBusyPerson(house)
    const { id, secret: key } = await house.newKey(person)
    const made: string[] = []
    for (let n = 0; n < 25; n++) {
      const body = { skill_slug: 'errand', input: 'Go.' }
      made.push((await house.call('POST', '/api/v1/executions', { key, body })).body.id)
    }
    const group = groupOf(await touchedBy(id, person), 'execution')
    expect(group?.count).toBe(25)
    expect(new Set(group?.items.map(({ id }) => id))).toEqual(new Set(made.slice(5)))
  })

  test('one who uses the key from elsewhere is seen, also in the moment in which its owner is believed', async () => {
    const person = await house.newPerson()
    const { id, secret } = await house.newKey(person)
    for (const address of [
      '203.0.113.7',
      '198.51.100.9',
      '2001:db8:1:2:3::4',
      '2001:db8:1:2:9::9',
      '203.0.113.7',
    ])
      expect(await house.authenticators.key(secret, address)).toBeDefined()
    const ips = async () => (await touchedBy(id, person)).addresses.map(({ ip }) => ip).sort()
    await expect.poll(ips).toEqual(['198.51.100.9', '2001:db8:1:2::/64', '203.0.113.7'])
  })
})

describe('GET /keys', () => {
  test("has each key's spending of the day and the month, by as many statements for one key as for many", async () => {
    const person = await house.newPerson()
    const enter = (kind: string, [source, target]: string[], keyId: number, milliDs: number, at: Date) =>
      sql`insert into ledger (user_id, kind, source, target, amount_milli_ds, key_id, at)
        values (${person.userId}, ${kind}, ${source}, ${target}, ${milliDs}, ${keyId}, ${at})`.execute(
        house.deps.database.db,
      )
    const spend = async (keyId: number, milliDs: number, at: Date) => {
      await enter('reserve', ['available', 'reserved'], keyId, milliDs, at)
      await enter('settle', ['reserved', 'spent'], keyId, milliDs, at)
    }
    const counter = await countStatements(databaseUrl)
    const counted = await openHouse({ DATABASE_URL: counter.url })
    const list = async () => (await counted.call('GET', '/api/v1/keys', { token: person.token })).body
    const keys = [await house.newKey(person)]
    await list()
    counter.take()
    await list()
    const forOne = counter.take().statements
    for (let n = 0; n < 12; n++) keys.push(await house.newKey(person))
    const now = new Date()
    const lastMonth = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()) - 1)
    for (const [index, { id }] of keys.slice(1).entries()) {
      await spend(id, 1000 + index, now)
      await spend(id, 77, lastMonth)
    }
    await list()
    counter.take()
    const listed = await list()
    // The session may have been asked about anew.
    expect(counter.take().statements).toBeLessThanOrEqual(forOne + 1)
    expect(listed.toReversed().map(({ spend }: { spend: object }) => spend)).toEqual(
      keys.map((_, index) => {
        const recent = index === 0 ? 0 : (999 + index) / 1000
        const total = index === 0 ? 0 : (999 + 77 + index) / 1000
        return { total, limit: null, today: recent, month: recent }
      }),
    )
    await counted.close()
    counter.close()
  })
})

test('every read has an index, and looks at the rows of the key alone', async () => {
  const queries: CompiledQuery[] = []
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: databaseUrl, max: 1 }) }),
    log: ({ query }) => void queries.push(query),
  })
  const workspaceId = (await house.newPerson()).workspaceId
  const since = new Date(Date.now() - 86_400_000).toISOString()
  for (const [, readKind] of touchReaders(db)) await readKind({ keyId: 1, workspaceId, since })
  await sumSpentSince(db, 1, since)
  await sumSpentOfKeys(db, [1, 2, 3])
  await db.destroy()
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query('set enable_seqscan = off')
  const used = new Set<string>()
  for (const { sql: text, parameters } of queries) {
    const { rows } = await client.query(`explain ${text}`, [...parameters])
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).not.toContain('Seq Scan')
    for (const [, index = ''] of plan.matchAll(/using (\w+)/g)) used.add(index)
    for (const [, index = ''] of plan.matchAll(/Bitmap Index Scan on (\w+)/g)) used.add(index)
  }
  await client.end()
  expect([...used].sort()).toEqual(
    expect.arrayContaining([
      'activity_of_key',
      'artifacts_of_key',
      'executions_of_key',
      'ledger_spent_by_key',
      'thread_runs_of_key',
      'trace_turns_of_key',
      'workflow_runs_of_key',
    ]),
  )
})
