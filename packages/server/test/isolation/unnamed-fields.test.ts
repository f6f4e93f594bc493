import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { type Ingress, openIngress } from '../support/ingress.ts'
import { listOptionNames } from '../support/option-names.ts'
import { type Planted, plant, plantedFields } from '../support/planting.ts'
import { type Column, dumpRows, listColumns } from '../support/records.ts'
import {
  models,
  operatorToken,
  type Stage,
  send,
  stageIn,
  writingCase,
  writingRoutes,
} from '../support/writing-cases.ts'

/**
 * Every writing route is played on two stages that begin with the same records: on the one as the contract has it, on
 * the other with every column of every table and every option of the server's functions added, wherever the contract
 * says which fields there are. The records are the same afterwards, but for what is drawn by lot.
 */
let ingress: Ingress
let plain: Stage & { client: pg.Client }
let grown: Stage & { client: pg.Client }
let columns: Column[]
let planted: Planted
let known: Set<string>
let strangers: Person

beforeAll(async () => {
  ingress = await openIngress()
  const base = await createDatabase()
  const first = await open(base)
  strangers = await first.newPerson({ email: 'stranger@cases.test' })
  await first.close()
  plain = await openStage(base, '1')
  grown = await openStage(base, '2')
  columns = await listColumns(plain.client)
  planted = plantedFields(columns, listOptionNames(), strangers)
  known = new Set(JSON.stringify(await dumpRows(plain.client, columns)).match(uuids))
})

afterAll(async () => {
  for (const stage of [plain, grown]) {
    await stage?.house.close()
    await stage?.client.end()
  }
  await ingress?.close()
})

function open(databaseUrl: string, redis = '0'): Promise<House> {
  return openHouse({
    DATABASE_URL: databaseUrl,
    // What is counted and told in Redis is a stage's own.
    REDIS_URL: `${inject('redisUrl')}/${redis}`,
    RESTATE_INGRESS_URL: ingress.url,
    STARTING_CREDITS: '1000',
    OPERATOR_TOKEN: operatorToken,
    MODELS: JSON.stringify(models),
  })
}

async function openStage(base: string, redis: string) {
  const databaseUrl = await createDatabase(new URL(base).pathname.slice(1))
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  return { ...stageIn(await open(databaseUrl, redis), 'case'), client }
}

const uuids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
/** Times, and what is drawn by lot or made of it. */
const isLeftOut = ({ table, name, type }: Column) =>
  type.startsWith('timestamp') ||
  type === 'bytea' ||
  [
    'api_keys.hint',
    'activations.user_code',
    'approval_requests.link_code',
    'oauth_clients.id',
    'passkeys.id',
  ].includes(`${table}.${name}`)

/** Each row with its table; what was made since the beginning has another id on every stage. */
async function recordsOf({ client }: { client: pg.Client }): Promise<string[]> {
  const dump = await dumpRows(client, columns, isLeftOut)
  const alike = (row: string) =>
    row
      .replace(uuids, (uuid) => (known.has(uuid) ? uuid : '<uuid>'))
      .replace(/\b[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}\b/g, '<code>')
      .replace(/app_[A-Za-z0-9]{20}|workflow_[0-9a-f]{40}/g, '<id>')
      .replace(/"id": "[A-Za-z0-9_-]{22}"/g, '<id>')
  return Object.entries(dump).flatMap(([table, rows]) => rows.map((row) => `${table} ${alike(row)}`))
}

async function differences(): Promise<string[]> {
  const [expected, found] = [await recordsOf(plain), await recordsOf(grown)]
  for (const row of [...expected]) {
    const at = found.indexOf(row)
    if (at < 0) continue
    found.splice(at, 1)
    expected.splice(expected.indexOf(row), 1)
  }
  return [...expected.map((row) => `- ${row}`), ...found.map((row) => `+ ${row}`)]
}

/** What follows an answer may be written a moment later. */
async function expectNoneBut(before: readonly string[]): Promise<void> {
  const added = async () => (await differences()).filter((row) => !before.includes(row))
  await expect.poll(added, { timeout: 2000, interval: 100 }).toEqual([])
}

/** How many fields the answer says were left out. */
function ignoredIn(answer: Answer): number {
  const names = answer.headers.get('x-ignored-fields')?.split(', ') ?? []
  return names.reduce((sum, name) => sum + (name.startsWith('+') ? Number(name.slice(1)) : 1), 0)
}

test('there is much to plant, and the strangers are in it', () => {
  expect(planted.size).toBeGreaterThan(500)
  for (const name of ['workspace_id', 'is_primary', 'step', 'parent', 'traceId', 'apiKeyId', 'admit']) {
    expect([...planted.keys()]).toContain(name)
  }
  expect([...planted.values()]).toContain(strangers.workspaceId)
})

test('the comparison sees a difference', async () => {
  expect(await differences()).toEqual([])
  await grown.client.query("update users set name = 'planted' where id = $1", [strangers.userId])
  expect(await differences()).toEqual([
    expect.stringMatching(/^- users /),
    expect.stringMatching(/^\+ users .*planted/),
  ])
  await grown.client.query('update users set name = null where id = $1', [strangers.userId])
  expect(await differences()).toEqual([])
})

/** Their bodies are the author's own, whatever they hold. */
const openBodies = ['validateWorkflow', 'installWorkflow']

describe.each(writingRoutes)('$name', ({ name, route }) => {
  test('changes nothing but what the contract names', async () => {
    const before = await differences()
    const make = writingCase(name)
    const call = await make(plain)
    const control = await send(plain, route, call)
    if (call.refusedWith === undefined) expect(control.status, control.text).toBeLessThan(300)
    else expect(control.status, control.text).toBe(call.refusedWith)
    expect(control.headers.has('x-ignored-fields')).toBe(false)

    const again = await make(grown)
    const { value: body, count } = plant(route.body, again.body, planted)
    const inQuery = [...planted.keys()].filter(
      (field) => /id$/i.test(field) && !route.query?.properties[field],
    )
    const query = inQuery.map((field) => `${field}=${strangers.workspaceId}`).join('&')
    const attack = await send(grown, route, { ...again, body }, `?${query}`)
    expect(attack.status, attack.text).toBe(control.status)
    await expectNoneBut(before)
    if (!openBodies.includes(name)) expect(count).toBeGreaterThan(400)
    expect(ignoredIn(attack)).toBe(count + inQuery.length)
  })
})
