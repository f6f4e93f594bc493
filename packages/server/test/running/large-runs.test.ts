import { sql } from 'kysely'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { FairPlaces } from '#platform/fair-places.ts'
import type { JsonText } from '#platform/json-text.ts'
import { readRun } from '#running/runs/read.ts'
import { readHandlers } from '#running/runs/read-routes.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { modernMessage } from '../../../../test/support/mcp.ts'
import { definitionOf, runsOf } from '../../../../test/support/workflows.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { runParts } from '../support/runs.ts'

const mebibyte = 1024 * 1024
const definition = definitionOf('large', [{ type: 'tool', id: 'first', toolId: 'echo' }])
let house: House
let DATABASE_URL: string

beforeAll(async () => {
  DATABASE_URL = await createDatabase()
  house = await openHouse({
    DATABASE_URL,
    DEV_TOOLS: '1',
    RUNS_PER_WORKSPACE: '0',
    HELD_BYTES_PER_CREDENTIAL: String(4 * mebibyte),
  })
})

afterAll(() => house.close())

async function newOwner(): Promise<Person> {
  const person = await house.newPerson()
  await runsOf(house, person).install('large', definition)
  return person
}

/** A run whose only step left this record, in this very spelling. */
async function newRun(owner: Person, record?: string): Promise<string> {
  const runId = await runsOf(house, owner).start('large')
  if (record)
    await sql`insert into workflow_steps (run_id, step_id, position, record, revision)
      values (${runId}, 'first', '{0}', ${record}::json, 1)`.execute(house.deps.database.db)
  return runId
}

const recordOf = (length: number) =>
  `{"status":"success","payload":{},"startedAt":1,"endedAt":2,"output":"${'x'.repeat(length)}"}`

const readerOf = ({ workspaceId, userId }: Person) => ({ workspaceId, userId, personId: null })
const get = (owner: Person, path: string) =>
  house.call('GET', `/api/v1/workflows/runs${path}`, { token: owner.token })

test('what is stored is passed on letter by letter, and never built again', async () => {
  const owner = await newOwner()
  const output = '{ "ratio":1.50, "count":12345678901234567890,\n "text":"\\u0041" }'
  const record = `{"status" : "success","startedAt":1, "endedAt":2e0,"payload":[ ],"output": ${output}}`
  const runId = await newRun(owner, record)
  const one = await get(owner, `/${runId}`)
  expect(one.text).toContain(`"snapshot":{"status":"running","context":{"input":{},"first":${record}}`)
  expect(one.text).toContain(`"steps":{"first":{"status":"success","output":${output}}}`)
  expect(one.body.run.snapshot.timestamp).toBeGreaterThan(2)
  expect((await get(owner, '')).text).toContain(record)
  const stream = await fetch(`${house.url}/api/v1/workflows/runs/${runId}/events`, {
    headers: { 'x-auth-token': owner.token },
  })
  let told = ''
  for await (const part of stream.body ?? []) {
    told += Buffer.from(part).toString()
    if (told.endsWith('\n\n')) break
  }
  // On one line, which is what ends an event.
  expect(told).toContain(record.replace('\n', ' '))
  expect(JSON.parse(told.split('\ndata: ')[1] ?? '')).toMatchObject({ runId, type: 'workflow-snapshot' })
})

test('a page of large runs ends early and says where the next one begins', async () => {
  const owner = await newOwner()
  const sizes = [3 * mebibyte, 0, 2 * mebibyte, 3 * mebibyte]
  const runIds: string[] = []
  for (const size of sizes) runIds.unshift(await newRun(owner, recordOf(size)))
  const pages: string[][] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await get(owner, `?limit=4${cursor && `&cursor=${cursor}`}`)
    pages.push(body.runs.map(({ runId }: { runId: string }) => runId))
    cursor = body.nextCursor
  }
  expect(pages).toEqual([runIds.slice(0, 2), runIds.slice(2)])
})

const { signal } = new AbortController()

test('large runs are read one at a time for a person, and nobody else waits for it', async () => {
  const owner = await newOwner()
  const largeReads = new FairPlaces(2, 1)
  const parts = { ...runParts(house), largeReads, placeWithinMs: 60_000 }
  const large = await newRun(owner, recordOf(40_000))
  // As it would for a run in another one of its workspaces.
  const leave = await largeReads.take(owner.userId, signal)
  let isRead = false
  const reading = readRun(parts, readerOf(owner), large).finally(() => {
    isRead = true
  })
  expect(await readRun(parts, readerOf(owner), await newRun(owner))).toBeDefined()
  const other = await newOwner()
  expect(await readRun(parts, readerOf(other), await newRun(other, recordOf(40_000)))).toBeDefined()
  expect(isRead).toBe(false)
  leave()
  expect((await reading)?.steps.get('first')?.length).toBeGreaterThan(40_000)
})

test('who finds no place in time is told to come again, and a page ends before what there was none for', async () => {
  const owner = await newOwner()
  const largeReads = new FairPlaces(2, 1)
  const parts = { ...runParts(house), largeReads, placeWithinMs: 50 }
  const large = await newRun(owner, recordOf(40_000))
  const small = await newRun(owner)
  await largeReads.take(owner.userId, signal)
  await expect(readRun(parts, readerOf(owner), large, signal)).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    retryAfterSeconds: 1,
  })
  const principal = { kind: 'session', ...readerOf(owner) }
  const call = { principal, query: {}, signal } as never
  const { items, within } = (await readHandlers(parts).listWorkflowRuns(call)) as never as {
    items: AsyncIterable<JsonText>
    within: { rest(): { nextCursor: string | null } }
  }
  const told: string[] = []
  for await (const text of items) told.push(JSON.parse(String(text)).runId)
  expect(told).toEqual([small])
  expect(within.rest().nextCursor).toEqual(expect.any(String))
})

test('an answer counts among the bytes that may be under way to one credential', async () => {
  const owner = await newOwner()
  const within = await newRun(owner, recordOf(1.5 * mebibyte))
  const beyond = await newRun(owner, recordOf(4.5 * mebibyte))
  expect((await get(owner, `/${within}`)).body.steps.first.output).toHaveLength(1.5 * mebibyte)
  for (const path of [`/${beyond}`, '']) {
    const refused = await get(owner, path)
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('1')
  }
})

test('also over MCP, where a stream that has begun is broken off', async () => {
  const owner = await newOwner()
  const runId = await newRun(owner, recordOf(mebibyte))
  const { secret: key } = await house.newKey(owner)
  const tight = await openHouse({ DATABASE_URL, HELD_BYTES_PER_CREDENTIAL: '500000' })
  onTestFinished(() => tight.close())
  const params = { name: 'get_workflow_run', arguments: { run_id: runId, steps: true, wait_seconds: 1 } }
  const ask = (at: House, meta = {}) => {
    const { headers, body } = modernMessage('tools/call', params)
    Object.assign((body as { params: { _meta: object } }).params._meta, meta)
    return at.call('POST', '/mcp/', { key, headers, body })
  }
  expect((await ask(house)).text.length).toBeGreaterThan(mebibyte)
  const refused = await ask(tight)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
  await expect(ask(tight, { progressToken: 1 })).rejects.toThrow()
})
