import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Database } from '../packages/server/src/platform/database.ts'
import type { TraceFilter } from '../packages/server/src/running/traces/list.ts'
import { findSettledMoment, listTraces, type TraceRow } from '../packages/server/src/running/traces/store.ts'

const pageSize = 200
const perSecond = 50

/**
 * Walks a list to its end while traces of it become active, some by transactions that take a while; then once more from
 * `asOf` of the first page on. Gives how many traces neither walk has shown.
 */
export async function findMissed(
  database: Database,
  client: pg.Client,
  { workspaceId, ...filter }: TraceFilter & { readonly workspaceId: string },
) {
  const all = await client.query<{ id: string }>(
    'select id from traces where workspace_id = $1 and kind = $2 and status = $3',
    [workspaceId, filter.kind, filter.status],
  )
  const ids = all.rows.map(({ id }) => id)
  const state = { walking: true, touched: 0 }
  const touching = touch(database, ids, state)
  const began = performance.now()
  const asOf = await findSettledMoment(database.db)
  const shown = await walk(database, workspaceId, filter).finally(() => {
    state.walking = false
  })
  const seconds = Math.round(performance.now() - began) / 1000
  await touching
  const missedByOneWalk = ids.filter((id) => !shown.has(id)).length
  for (const id of await walk(database, workspaceId, { ...filter, since: asOf })) shown.add(id)
  const missed = ids.filter((id) => !shown.has(id)).length
  return { rows: ids.length, touched: state.touched, seconds, missedByOneWalk, missed }
}

async function walk(database: Database, workspaceId: string, filter: TraceFilter): Promise<Set<string>> {
  const shown = new Set<string>()
  let last: TraceRow | undefined
  for (;;) {
    const after = last && { lastActivityAt: last.last_activity_at, rowId: last.row_id }
    const rows = await listTraces(database.db, workspaceId, filter, { limit: pageSize, after })
    for (const { id } of rows) shown.add(id)
    last = rows.at(-1)
    if (rows.length < pageSize) return shown
  }
}

const touchStatement = {
  name: 'touch-traces',
  text: 'update traces set last_activity_at = guild_now() where id = any($1)',
}

/** Of the connections that there are, enough are left for the walk and for what is quick. */
const mostSlow = 4

/** So many a second by the clock, however long those that take a while take. */
async function touch(
  database: Database,
  ids: readonly string[],
  state: { walking: boolean; touched: number },
) {
  const slow = new Set<Promise<void>>()
  for (const began = performance.now(); state.walking; await delay(100)) {
    const due = Math.floor(((performance.now() - began) * perSecond) / 1000) - state.touched
    const some = Array.from({ length: due }, () => ids[Math.floor(Math.random() * ids.length)] ?? '')
    state.touched += some.length
    const slowly = slow.size < mostSlow ? some.splice(0, 1) : []
    for (const id of slowly) {
      const touching = touchSlowly(database, id).finally(() => slow.delete(touching))
      slow.add(touching)
    }
    await Promise.all(some.map((id) => database.hot(touchStatement, [[id]])))
  }
  await Promise.all(slow)
}

/** Its activity is of the moment when it began, and shows when it has ended. */
async function touchSlowly(database: Database, id: string): Promise<void> {
  await database.transaction(async (tx) => {
    await tx
      .updateTable('traces')
      .set({ last_activity_at: new Date().toISOString() })
      .where('id', '=', id)
      .execute()
    await delay(1500)
  })
}
