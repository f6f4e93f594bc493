import { type Route, routes } from '@guildhall/contract'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Person } from '../../../../../test/support/caller.ts'
import { atSize } from '../../../../../test/support/sizes.ts'
import { createDatabase, type House, openHouse } from '../../support/house.ts'
import { type Ingress, openIngress } from '../../support/ingress.ts'
import { type Changes, type Column, listColumns, type Row, watchRows } from '../../support/records.ts'
import {
  models,
  operatorToken,
  type Stage,
  send,
  stageIn,
  writingCase,
  writingRoutes,
} from '../../support/writing-cases.ts'
import type { WritingCall } from '../../support/writing-stage.ts'

/**
 * Strangers play every writing route, and so have something of everything. Then a caller sends the ids of all of that in
 * every field of every writing route, in its path and in headers. Afterwards every row of the strangers' is the same to
 * the byte, none was added for them, and nothing that they wrote was in any answer.
 */
const mark = 'xq-what-strangers-wrote'

let house: House
let ingress: Ingress
let client: pg.Client
let columns: Column[]
let look: () => Promise<Changes>
let stage: Stage
let caller: Person
let strangersRows: Set<string>
let strangersUuids: Set<string>
/** One id of each kind, by the column that it is from. */
let ids: Map<string, string>

beforeAll(async () => {
  ingress = await openIngress()
  const databaseUrl = await createDatabase()
  house = await openHouse({
    DATABASE_URL: databaseUrl,
    RESTATE_INGRESS_URL: ingress.url,
    STARTING_CREDITS: '1000',
    OPERATOR_TOKEN: operatorToken,
    MODELS: JSON.stringify(models),
  })
  client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  columns = await listColumns(client)
  look = watchRows(client, columns)
  const strangers = stageIn(house, 'stranger', mark)
  for (const { name, route } of writingRoutes) {
    const call = await writingCase(name)(strangers)
    const headers = { ...call.headers, ...(route.creates ? { 'idempotency-key': strangersKey } : {}) }
    await send(strangers, route, { ...call, headers })
  }
  // What follows an answer may be written a moment later.
  await new Promise((resolve) => setTimeout(resolve, 500))
  const rows = (await look()).added.map(named)
  strangersRows = new Set(rows.filter(isDecided))
  strangersUuids = new Set(rows.join('\n').match(uuids))
  ids = await collectIds()
  stage = stageIn(house, 'caller')
  caller = await stage.newPerson()
}, 120_000)

afterAll(async () => {
  await house?.close()
  await client?.end()
  await ingress?.close()
})

const strangersKey = 'a-key-of-strangers'
const uuids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

const named = ({ table, text }: Row): string => `${table} ${text}`

/** A pairing that nobody has decided is anybody's who knows its code. */
function isDecided(row: string): boolean {
  return !(row.startsWith('activations ') && row.includes('"decided_by": null'))
}

/** Of each column that names something, what one of the strangers' rows has there. */
async function collectIds(): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  const naming = columns.filter(
    ({ table, name, type }) =>
      ['uuid', 'text', 'bigint'].includes(type) &&
      /(^|_)(id|slug|key|code|checksum|subject)$/.test(name) &&
      table !== 'activations',
  )
  // Under the name of the table whose own it is, as far as one value stands in several.
  const isOwn = ({ table, name }: Column) => name === 'id' || table.endsWith(name.replace(/_id$/, 's'))
  naming.sort((a, b) => Number(isOwn(b)) - Number(isOwn(a)))
  for (const { table, name } of naming) {
    const { rows } = await client.query(
      `select ${name}::text as id from ${table} where ${name} is not null order by 1 desc limit 1`,
    )
    if (rows[0] && ![...found.values()].includes(rows[0].id)) found.set(`${table}.${name}`, rows[0].id)
  }
  const { rows } = await client.query(
    `select user_code from activations where decided_by is not null limit 1`,
  )
  found.set('activations.user_code', rows[0].user_code)
  for (const table of ['agents', 'workflows']) {
    const { rows } = await client.query(`select workspace_id || ':' || slug as id from ${table} limit 1`)
    found.set(`the full name in ${table}`, rows[0].id)
  }
  return found
}

function expectNothingShown(what: string, answer: Answer): void {
  expect(answer.status, `${what}: ${answer.text}`).toBeLessThan(500)
  expect(answer.text.includes(mark), `${what} shows what strangers wrote: ${answer.text}`).toBe(false)
}

/** Of what strangers had, what is gone; and what was added for them since. */
const gone = new Set<string>()
const theirs = new Set<string>()

async function expectNothingChanged(): Promise<void> {
  const { added, removed } = await look()
  for (const row of removed.map(named)) {
    theirs.delete(row)
    if (strangersRows.has(row)) gone.add(row)
  }
  for (const row of added) {
    if (strangersRows.has(named(row))) gone.delete(named(row))
    else if (isDecided(named(row)) && isOfStrangers(row)) theirs.add(named(row))
  }
  expect([...gone]).toEqual([])
  expect([...theirs]).toEqual([])
}

function isOfStrangers({ table, text }: Row): boolean {
  const fields = JSON.parse(text)
  return columns.some(
    (column) => column.type === 'uuid' && column.table === table && strangersUuids.has(fields[column.name]),
  )
}

type Place = readonly (string | number)[]

/** Where in a value texts stand. */
function placesOf(value: unknown, at: Place = []): Place[] {
  if (typeof value === 'string') return [at]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => placesOf(inner, [...at, name]))
}

function withAt(value: unknown, [name, ...rest]: Place, text: string): unknown {
  if (name === undefined) return text
  if (Array.isArray(value))
    return value.map((item, i) => (String(i) === name ? withAt(item, rest, text) : item))
  const fields = value as Record<string, unknown>
  return { ...fields, [name]: withAt(fields[name], rest, text) }
}

/** Fields that the case leaves out, because they exclude others or are optional, as far as they may name something. */
function withOptional(route: Route, body: unknown): unknown[] {
  const properties: Record<string, { type?: string; pattern?: string }> =
    (route.body as { properties?: Record<string, object> } | undefined)?.properties ?? {}
  const missing = Object.keys(properties).filter(
    (name) => properties[name]?.type === 'string' && !Object.hasOwn((body ?? {}) as object, name),
  )
  return missing.map((name) => ({ ...(body as object), [name]: 'x' }))
}

interface Try {
  readonly what: string
  change(call: WritingCall): WritingCall
}

/** A field that may name something gets an id of every kind; a text that nobody looks up gets a few. */
const names = /id$|slug|code|key|remixOf|step|cursor|actor|workspace/i
const few = ['workspaces.id', 'executions.execution_id', 'users.id', 'the full name in agents'].slice(
  0,
  atSize(2, 4),
)
/** Of the other kinds a field gets some, others than the next field; in a proof each. */
const everyNth = atSize(24, 1)
/** What stands in a path or a query gets all kinds in a proof; that each refuses its own is shown by `foreign-ids`. */
const everyNthNamed = atSize(8, 1)
const isTriedBy = (route: Route, kind: string, nth: number) =>
  few.includes(kind) || (nth + route.path.length) % everyNthNamed === 0

function triesFor(route: Route, call: WritingCall): Try[] {
  const tries: Try[] = []
  for (const [nth, [kind, id]] of [...ids].entries()) {
    const isTried = (place: Place, at: number) =>
      few.includes(kind) || (names.test(place.join('.')) && (nth + at) % everyNth === 0)
    for (const name of isTriedBy(route, kind, nth) ? Object.keys(call.params ?? {}) : []) {
      const change = (now: WritingCall) => ({ ...now, params: { ...now.params, [name]: id } })
      tries.push({ what: `${kind} as :${name}`, change })
    }
    for (const [nthBody, body] of [call.body, ...withOptional(route, call.body)].entries()) {
      const places = body === call.body ? placesOf(body) : placesOf(body).slice(-1)
      for (const place of places.filter((place, at) => isTried(place, nthBody + at))) {
        const change = (now: WritingCall) => ({
          ...now,
          body: withAt({ ...(body as object), ...(now.body as object) }, place, id),
        })
        tries.push({ what: `${kind} as ${place.join('.')}`, change })
      }
    }
    const headers = few.includes(kind) ? ['x-workspace-id', 'x-client-label'] : []
    for (const header of headers) {
      const change = (now: WritingCall) => ({ ...now, headers: { ...now.headers, [header]: id } })
      tries.push({ what: `${kind} as ${header}`, change })
    }
  }
  const change = (now: WritingCall) => ({
    ...now,
    headers: { ...now.headers, 'idempotency-key': strangersKey },
  })
  return [...tries, { what: "a stranger's idempotency-key", change }]
}

test('a change of what is theirs, and what they wrote, would be seen', async () => {
  const [{ id, name }] = (await client.query('select id, name from workspaces limit 1')).rows
  const rename = (to: string) => client.query('update workspaces set name = $1 where id = $2', [to, id])
  await rename('changed')
  await expect(expectNothingChanged()).rejects.toThrow()
  await rename(name)
  await expectNothingChanged()
  const added = [
    'insert into agents (workspace_id, slug, name, description, instructions)',
    'values ($1, $2, $2, $2, $2)',
  ]
  await client.query(added.join(' '), [id, 'planted'])
  await expect(expectNothingChanged()).rejects.toThrow()
  await client.query("delete from agents where slug = 'planted'")
  const answer = { status: 200, text: mark, headers: new Headers(), body: undefined }
  expect(() => expectNothingShown('a planted answer', answer)).toThrow()
})

test('the strangers have something of everything', () => {
  expect(ids.size).toBeGreaterThan(25)
  for (const kind of [
    'workspaces.id',
    'agent_versions.slug',
    'executions.execution_id',
    'workflow_runs.run_id',
  ]) {
    expect([...ids.keys()]).toContain(kind)
  }
  expect([...strangersRows].filter((row) => row.includes(mark)).length).toBeGreaterThan(30)
})

describe.each(writingRoutes)('$name', ({ name, route }) => {
  test('does nothing to strangers and shows nothing of theirs, whatever id of theirs it gets', async () => {
    const make = writingCase(name)
    let call = await make(stage)
    for (const { what, change } of triesFor(route, call)) {
      const answer = await send(stage, route, change(call))
      expectNothingShown(what, answer)
      // What had an effect cannot have it again.
      if (answer.status < 300) call = await make(stage)
    }
    await expectNothingChanged()
  }, 120_000)
})

const readingRoutes = Object.entries<Route>(routes)
  .filter(([, { method, path, query }]) => method === 'GET' && query && !path.includes(':'))
  .map(([name, route]) => ({ name, route }))

test.each(readingRoutes)('$name shows nothing of strangers, whatever is asked for', async ({ route }) => {
  const tried = [...ids].filter(([kind], nth) => isTriedBy(route, kind, nth))
  for (const [kind, id] of tried) {
    const fields = Object.keys(route.query?.properties ?? {})
    for (const field of fields.filter((name) => few.includes(kind) || names.test(name))) {
      const path = `${route.path}?${field}=${encodeURIComponent(id)}`
      expectNothingShown(`${kind} as ${field}`, await house.call('GET', path, { token: caller.token }))
    }
  }
  await expectNothingChanged()
})
