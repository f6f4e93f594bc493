import type pg from 'pg'
import type { TraceFilter, TracePlace } from '../packages/server/src/running/traces/list.ts'

/** What the measurements of lists of traces share: rows of every sort, and every way to ask for some of them. */
export const crowded = '00000000-0000-4000-8000-000000000001'
const people = '00000000-0000-4000-8000-0000000000aa'
const beginning = `timestamptz '2026-01-01T00:00:00Z'`
const workspaces = 20_000

/** Four fifths of them in one workspace, the others over many. Indexes are built afterwards, which is much faster. */
export async function insertTraces(client: pg.Client, from: number, to: number): Promise<void> {
  await client.query(`insert into workspaces (id, kind)
    select ('00000000-0000-4000-8000-' || lpad(g::text, 12, '0'))::uuid, 'team'
    from generate_series(1, ${workspaces + 1}) g on conflict do nothing`)
  const { rows } = await client.query<{ indexname: string; indexdef: string }>(
    `select indexname, indexdef from pg_indexes
     where tablename = 'traces' and indexname like 'traces_listed%' or indexname = 'traces_by_key'`,
  )
  for (const { indexname } of rows) await client.query(`drop index ${indexname}`)
  await client.query(
    `insert into traces (id, workspace_id, kind, title, status, user_id, api_key_id, agent_slug, trace_key, started_at,
       last_activity_at)
     select 'trace_' || gen_random_uuid(), case when i % 5 < 4 then '${crowded}'::uuid
         else ('00000000-0000-4000-8000-' || lpad((2 + (i / 5) % ${workspaces})::text, 12, '0'))::uuid end,
       case when i % 3 = 0 then 'chat' else 'execution' end, 'Report on the orders of last week: ' || i,
       (array['completed', 'completed', 'completed', 'completed', 'completed', 'completed', 'failed', 'failed', 'idle',
         'running'])[1 + (hashint4(i) & 2147483647) % 10],
       '${people}', case when i % 4 = 0 then null else 1 + (hashint4(i + 7) & 2147483647) % 2000 end,
       case when i % 2 = 0 or i % 3 = 0 then 'agent-' || ((hashint4(i + 13) & 2147483647) % 150) end,
       'lineage_' || gen_random_uuid(), ${beginning} + i * interval '1 second', ${beginning} + i * interval '1 second'
     from generate_series(${from}, ${to}) i`,
  )
  for (const { indexdef } of rows) await client.query(indexdef)
  await client.query('vacuum analyze traces')
}

/** Every combination of filters with every combination of bounds. */
export function everyFilter(rows: number): TraceFilter[] {
  const moment = (part: number) => new Date(Date.parse('2026-01-01') + rows * part * 1000).toISOString()
  return Array.from({ length: 64 }, (_, index) => ({
    ...(index & 1 ? { kind: 'chat' as const } : {}),
    ...(index & 2 ? { status: 'failed' } : {}),
    ...(index & 4 ? { agent: 'agent-7' } : {}),
    ...(index & 8 ? { apiKeyId: 77 } : {}),
    ...(index & 16 ? { since: moment(0.1) } : {}),
    ...(index & 32 ? { until: moment(0.6) } : {}),
  }))
}

/** Where pages begin: at the front, half-way, and just before the end of the list. */
export function everyPlace(rows: number): Record<'first' | 'middle' | 'last', TracePlace | undefined> {
  const place = (row: number): TracePlace => ({
    lastActivityAt: new Date(Date.parse('2026-01-01') + Math.round(row) * 1000).toISOString(),
    rowId: 0,
  })
  return { first: undefined, middle: place(rows * 0.4), last: place(rows * 0.1 + 500) }
}

export const pageLimits = [1, 50, 200]
