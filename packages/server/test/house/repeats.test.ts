import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { type Route, routes } from '@guildhall/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { withDatabase } from '../../../../test/support/database.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { type Ingress, openIngress } from '../support/ingress.ts'
import { models, operatorToken, sendBy, stageIn, writingCase } from '../support/writing-cases.ts'
import type { WritingCall } from '../support/writing-stage.ts'

/**
 * Every route of the contract that makes or decides something, asked under an Idempotency-Key by a client that loses the
 * answer. Whoever repeats is told the same, by another process too: when no limit has room for another one, and when
 * everything it rests on is taken away, all that the workspace has, its credits and files, the scopes of the key, the engine.
 */
const creating = Object.entries<Route>(routes)
  // A repeat of what answers by events joins them: thread-streams.test.ts.
  .filter(([, { creates, stream }]) => creates && !stream)
  .map(([name, route]) => ({ name, route }))

/** Who they are, who is asking, what was answered; and the run's row, by which a launch is known to have been taken. */
const kept = [
  'migrations',
  'users',
  'user_identities',
  'workspaces',
  'workspace_members',
  'sessions',
  'api_keys',
  'api_key_secrets',
  'idempotency_keys',
  'workflow_runs',
]

interface Made {
  readonly call: WritingCall
  readonly first: Answer
}

let ingress: Ingress
let databaseUrl: string
let house: House
let second: House
/** Where every quota is used up by what was made. */
let full: House
const made = new Map<string, Made>()

beforeAll(async () => {
  ingress = await openIngress()
  databaseUrl = await createDatabase()
  const env = {
    DATABASE_URL: databaseUrl,
    RESTATE_INGRESS_URL: ingress.url,
    STARTING_CREDITS: '1000',
    OPERATOR_TOKEN: operatorToken,
    MODELS: JSON.stringify(models),
  }
  house = await openHouse(env)
  second = await openHouse(env)
  full = await openHouse({
    ...env,
    QUOTA_ARTIFACT_BYTES: '1',
    QUOTA_ARTIFACT_FILES: '1',
    QUOTA_IDLE_EXECUTIONS: '1',
    QUOTA_IDLE_EXECUTIONS_PER_KEY: '1',
    QUOTA_TRACE_BYTES: '1',
    QUOTA_RUN_BYTES: '1',
  })
})

afterAll(async () => {
  await house?.close()
  await second?.close()
  await full?.close()
  await ingress?.close()
})

/** What the case asks is for a person to answer. */
const inPerson = ['resumeWorkflowRun']

/** By a key with every scope where one may ask, so that there is something to take away. */
async function callOf(name: string, route: Route): Promise<WritingCall> {
  const people: Person[] = []
  const stage = stageIn(house, name.toLowerCase())
  const call = await writingCase(name)({
    ...stage,
    newPerson: async (mode) => {
      const person = await stage.newPerson(mode)
      people.push(person)
      return person
    },
  })
  const headers = { ...call.headers, 'idempotency-key': randomUUID() }
  const [person] = people
  const mayBeKey = route.audience === 'credential' && !inPerson.includes(name)
  const byKey = mayBeKey && call.key === undefined && !call.headers
  if (!byKey || !person) return { ...call, headers }
  const { token: _, ...rest } = call
  return { ...rest, key: (await house.newKey(person, { access: 'full' })).secret, headers }
}

/** More than may wait for an answer at a time. */
const untilFull = 6

const said = ({ status, text }: Answer) => `${status} ${text}`
const madeBy = (name: string) => made.get(name) as Made

describe.each(creating)('$name', ({ name, route }) => {
  test('is done', async () => {
    const call = await callOf(name, route)
    const first = await sendBy(house, route, call)
    expect([200, 201, 202], first.text).toContain(first.status)
    made.set(name, { call, first })
  })
})

describe.each(creating)('$name', ({ name, route }) => {
  test('is answered as the first time where there is room for no other', async () => {
    const { call, first } = madeBy(name)
    const again = () => ({ ...call, headers: { ...call.headers, 'idempotency-key': randomUUID() } })
    for (let n = 0; n < untilFull; n++) await sendBy(full, route, again())
    const answer = await sendBy(full, route, call)
    if (route.answersSecret) expect(answer.status, answer.text).toBe(409)
    else expect(said(answer)).toBe(said(first))
  })
})

test('everything it rests on is taken away', async () => {
  await withDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query(
      `select tablename from pg_tables where schemaname = 'public' and tablename <> all ($1)`,
      [kept],
    )
    expect(rows.length).toBeGreaterThan(40)
    await client.query('set session_replication_role = replica')
    for (const { tablename } of rows) await client.query(`delete from ${tablename}`)
    await client.query(`update api_keys set scopes = '{}'`)
  })
  const { storage } = house.deps.config
  if (storage.kind !== 'directory') throw new Error('The files are somewhere else')
  await rm(storage.path, { recursive: true })
  await mkdir(storage.path)
  await ingress.close()
  const keys = [...made.values()].flatMap(({ call }) => call.key ?? [])
  expect(keys.length).toBeGreaterThan(15)
  for (const process of [house, second]) {
    const read = () => process.call('GET', '/api/v1/artifacts', { key: keys.at(-1) ?? '' })
    await expect.poll(async () => (await read()).status).toBe(403)
  }
})

describe.each(creating)('$name', ({ name, route }) => {
  test('is answered as the first time', async () => {
    const { call, first } = madeBy(name)
    for (const process of [house, second]) {
      const answer = await sendBy(process, route, call)
      if (route.answersSecret) {
        expect(answer.status, answer.text).toBe(409)
        expect(answer.body.error.details.id, answer.text).toEqual(expect.any(String))
      } else expect(said(answer)).toBe(said(first))
    }
  })

  test('is not done under a key that belongs to another body', async () => {
    const { call } = madeBy(name)
    if (call.body === undefined) return
    const other = { ...(call.body as object), another: 'field' }
    const answer = await sendBy(second, route, { ...call, body: other })
    expect(answer.status, answer.text).toBe(409)
    expect(answer.text).toContain('used for a different request')
  })

  test('is not done under a key that is new', async () => {
    const { call } = madeBy(name)
    if (route.audience !== 'credential' || call.key === undefined) return
    const headers = { ...call.headers, 'idempotency-key': randomUUID() }
    const answer = await sendBy(second, route, { ...call, headers })
    expect(answer.status, answer.text).toBeGreaterThanOrEqual(400)
  })
})
