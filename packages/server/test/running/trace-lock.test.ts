import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Tx } from '#platform/database.ts'
import { executionLog } from '#running/executions/event-log.ts'
import { executionTurns } from '#running/executions/executions.ts'
import { catalogueLocked, planCatalogue } from '#running/traces/catalogue.ts'
import * as store from '#running/traces/store.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/**
 * What the lock of the trace's row is for: the same work by the same statements with it and without. Without it numbers
 * come to mean other events, and readers miss some.
 */
let house: House

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase(), DATABASE_POOL_SIZE: '16' })
})

afterAll(() => house.close())

type Catalogue = (tx: Tx, workspaceId: string, traceId: string) => Promise<unknown>

const locked: Catalogue = (tx, workspaceId, traceId) =>
  catalogueLocked(tx, { execution: executionTurns(house.deps.redis) }, workspaceId, traceId)

const unlocked: Catalogue = async (tx, workspaceId, traceId) => {
  const trace = await store.findTrace(tx, workspaceId, traceId)
  const open = await store.listOpenProducers(tx, traceId)
  const reach = await executionLog.listReachIn(
    tx,
    open.map(({ rowId }) => rowId),
  )
  const reached = open.map((producer) => ({
    ...producer,
    last: reach.get(producer.rowId)?.last ?? 0,
    ended: false,
  }))
  const change = planCatalogue(trace?.last_seq ?? 0, await store.findLastPiece(tx, traceId), reached)
  if (change) await store.updateCatalogue(tx, traceId, change)
}

const query = async <Row extends object>(name: string, text: string, values: unknown[]) =>
  house.deps.database.hot<Row>({ name, text }, values)

async function newTrace(producers: number) {
  const person = await house.newPerson()
  const traceId = `trace_${crypto.randomUUID()}`
  await query(
    'new-trace',
    `insert into traces (id, workspace_id, kind, title, status, user_id, trace_key)
     values ($1, $2, 'execution', '', 'running', $3, $1)`,
    [traceId, person.workspaceId, person.userId],
  )
  await query(
    'new-bundle',
    `insert into bundles (checksum, files_count, size_bytes) values (repeat('0', 64), 1, 1) on conflict do nothing`,
    [],
  )
  const rows = await query<{ id: number }>(
    'new-producers',
    `with made as (insert into executions (execution_id, workspace_id, user_id, status, skill_id, skill_slug, skill_name,
       skill_version, bundle_checksum, source, interface, input_text, trace_id)
     select 'exec_' || gen_random_uuid(), $2, $3, 'idle', 1, 's', 'S', 1, repeat('0', 64), 'api', 'api', '', $1
     from generate_series(1, $4::int) returning id),
     joined as (insert into trace_producers (trace_id, kind, producer_row_id) select $1, 'execution', id from made)
     select id from made`,
    [traceId, person.workspaceId, person.userId, producers],
  )
  return { workspaceId: person.workspaceId, traceId, rowIds: rows.map(({ id }) => id) }
}

const grow = (rowId: number, events: number) =>
  query('grow', 'update executions set last_sequence = last_sequence + $2::int where id = $1', [
    rowId,
    events,
  ])

/** Which event each number above another one means. */
async function read(traceId: string, after: number): Promise<string[]> {
  const pieces = await store.listPieces(house.deps.database.db, traceId, {
    after,
    through: Number.MAX_SAFE_INTEGER,
    most: 100_000,
  })
  return pieces.flatMap(({ firstSeq, lastSeq, rowId, firstEvent }) =>
    Array.from({ length: lastSeq - firstSeq + 1 }, (_, at) => firstSeq + at)
      .filter((seq) => seq > after)
      .map((seq) => `${seq} is ${rowId}:${firstEvent + seq - firstSeq}`),
  )
}

/** What readers who tail saw that is not so in the end, or did not see that is. */
async function countMistakes(catalogue: Catalogue, forMs: number): Promise<number> {
  const { workspaceId, traceId, rowIds } = await newTrace(3)
  const until = Date.now() + forMs
  const produce = async (rowId: number) => {
    while (Date.now() < until) {
      await grow(rowId, 1 + Math.floor(Math.random() * 3))
      await delay(Math.random() * 4)
    }
  }
  const look = () => house.deps.database.transaction((tx) => catalogue(tx, workspaceId, traceId))
  const tail = async () => {
    const seen: string[] = []
    while (Date.now() < until) {
      // What it reads has no lock either way; a piece that was overwritten meanwhile shows in what it saw.
      await look().catch(() => {})
      seen.push(...(await read(traceId, Number.parseInt(seen.at(-1) ?? '0', 10))))
    }
    return seen
  }
  const [, seen] = await Promise.all([
    Promise.all(rowIds.map(produce)),
    Promise.all(Array.from({ length: 8 }, tail)),
  ])
  await look()
  const all = await read(traceId, 0)
  const events = new Set(all.map((turn) => turn.split(' ').at(-1)))
  const [made] = await query<{ n: number }>(
    'made',
    'select sum(last_sequence)::int as n from executions where id = any($1)',
    [rowIds],
  )
  const missing = Math.abs((made?.n ?? 0) - events.size) + (all.length - events.size)
  return seen.reduce((sum, own) => sum + own.filter((turn, at) => turn !== all[at]).length, missing)
}

test('under the lock every reader sees what is so in the end; without it they do not', async () => {
  expect(await countMistakes(locked, 2500)).toBe(0)
  expect(await countMistakes(unlocked, 2500)).toBeGreaterThan(0)
})
