import pg from 'pg'
import { Database } from '../packages/server/src/platform/database.ts'
import { createLogger } from '../packages/server/src/platform/logger.ts'
import { appendEvents, type NewEvent } from '../packages/server/src/running/executions/event-log.ts'
import { checkBar, insertExecutions, median, openParts, quantile } from './event-parts.ts'
import { readNumbers } from './options.ts'

/**
 * Appending to the log (gapless, fenced, partitioned) against the bare gapless statement on two plain tables, both
 * through a pool of the same size, interleaved.
 */
const { rounds, seconds, writers } = readNumbers({ rounds: 5, seconds: 2, writers: 16 })
const poolSize = 16
const requiredRatio = 0.75
const bareStatement = `with bumped as (
    update bare_executions set last_sequence = last_sequence + cardinality($2::text[]) where id = $1
    returning last_sequence - cardinality($2::text[]) as base
  )
  insert into bare_events (execution_id, sequence, type, payload)
  select $1, base + position, type, payload
  from bumped, unnest($2::text[], $3::text[]) with ordinality as given (type, payload, position) returning sequence`

const parts = await openParts()
const database = new Database({ url: parts.databaseUrl, poolSize, logger: createLogger('warn') })
const pool = new pg.Pool({ connectionString: parts.databaseUrl, max: poolSize, idleTimeoutMillis: 0 })
// Connections may still be closing when the server stops.
pool.on('error', () => {})
try {
  const executions = await insertExecutions(parts.databaseUrl, writers)
  await pool.query(
    `create table bare_executions (id bigint primary key, last_sequence integer not null default 0) with (fillfactor = 70)`,
  )
  await pool.query(`create table bare_events (execution_id bigint not null, sequence integer not null, type text not null,
    payload text not null, at timestamptz(3) not null default now(), primary key (execution_id, sequence))`)
  await pool.query('insert into bare_executions (id) select unnest($1::bigint[])', [
    executions.map(({ id }) => id),
  ])
  const text = 'x'.repeat(150)
  const event: NewEvent = { type: 'agent.message', payload: { content: [{ type: 'text', text }] } }

  const kinds = {
    bare: async (id: number, events: readonly NewEvent[]) => {
      const types = events.map(({ type }) => type)
      const payloads = events.map(({ payload }) => JSON.stringify(payload))
      await pool.query({ name: 'bare', text: bareStatement, values: [id, types, payloads] })
    },
    guildhall: async (id: number, events: readonly NewEvent[]) => {
      if (!(await appendEvents(database, id, 1, events))) throw new Error('fenced out')
    },
  }
  const run = async (kind: keyof typeof kinds, batch: number, seconds: number) => {
    const events = Array<NewEvent>(batch).fill(event)
    const latencies: number[] = []
    const started = performance.now()
    const writing = executions.map(async ({ id }) => {
      while (performance.now() - started < seconds * 1000) {
        const begun = performance.now()
        await kinds[kind](id, events)
        latencies.push(performance.now() - begun)
      }
    })
    await Promise.all(writing)
    const perSecond = (latencies.length * batch * 1000) / (performance.now() - started)
    return { perSecond, p50: median(latencies), p99: quantile(latencies, 0.99) }
  }

  for (const kind of ['bare', 'guildhall'] as const) await run(kind, 10, 1)
  const figures = []
  for (const batch of [1, 10, 50]) {
    const runs = { bare: [] as number[], guildhall: [] as number[] }
    const p99s = { bare: [] as number[], guildhall: [] as number[] }
    for (let round = 0; round < rounds; round++) {
      for (const kind of ['bare', 'guildhall'] as const) {
        const { perSecond, p99 } = await run(kind, batch, seconds)
        runs[kind].push(perSecond)
        p99s[kind].push(p99)
      }
    }
    const ratio = median(runs.guildhall.map((figure, index) => figure / (runs.bare[index] ?? Number.NaN)))
    figures.push({ batch, ratio })
    console.log(
      `batches of ${batch}, ${writers} writers: bare ${median(runs.bare).toFixed(0)} events/s, p99 ${median(p99s.bare).toFixed(1)} ms; ` +
        `guildhall ${median(runs.guildhall).toFixed(0)} events/s, p99 ${median(p99s.guildhall).toFixed(1)} ms; ratio ${ratio.toFixed(2)}`,
    )
  }
  for (const { batch, ratio } of figures) {
    if (batch >= 10) checkBar(`append in batches of ${batch}, of bare`, ratio, 'at least', requiredRatio)
  }
} finally {
  await Promise.all([database.close(), pool.end()])
  await parts.stop()
}
