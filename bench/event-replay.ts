import { get } from 'node:http'
import pg from 'pg'
import { addressOf, checkBar, insertExecutions, median, openParts } from './event-parts.ts'
import { readNumbers } from './options.ts'
import { type Program, startProgram } from './program.ts'

/**
 * Replaying a long log over HTTP against reading it whole with a bare `SELECT payload::text`, interleaved. The yardstick
 * is a table as it is usually made, with payloads as jsonb; the log itself keeps text, and reading that is shown too.
 */
const { events: count, rounds } = readNumbers({ events: 100_000, rounds: 7 })
const requiredRatio = 0.5

const parts = await openParts()
const programs: Program[] = []
const client = new pg.Client({ connectionString: parts.databaseUrl })
try {
  await client.connect()
  const [execution] = await insertExecutions(parts.databaseUrl, 1)
  if (!execution) throw new Error('nothing to replay')
  const { id } = execution
  const payload = JSON.stringify({ content: [{ type: 'text', text: 'x'.repeat(150) }] })
  await client.query(
    `insert into execution_events (execution_id, sequence, type, payload)
     select $1, g, case g when $2 then 'session.status_idle' else 'agent.message' end, $3 from generate_series(1, $2::int) g`,
    [id, count, payload],
  )
  await client.query(`update executions set status = 'completed', last_sequence = $2 where id = $1`, [
    id,
    count,
  ])
  await client.query(
    `create table usual_events (execution_id bigint, sequence integer, type text, payload jsonb, primary key (execution_id, sequence))`,
  )
  await client.query(
    'insert into usual_events select execution_id, sequence, type, payload::jsonb from execution_events',
  )
  await client.query('vacuum analyze')
  const holder = await startProgram('stream-process.ts', parts.env)
  programs.push(holder)

  const select = async (table: string) => {
    const text = `select sequence, type, payload::text from ${table} where execution_id = $1 order by sequence`
    const { rows } = await client.query({ name: table, text, values: [id] })
    return rows.length
  }
  const replay = () =>
    new Promise<number>((resolve, reject) => {
      get(addressOf(parts, holder.port, execution), { agent: false }, (response) => {
        let frames = 0
        response.on('data', (chunk: Buffer) => {
          for (let at = chunk.indexOf('\nid: '); at !== -1; at = chunk.indexOf('\nid: ', at + 1)) frames++
        })
        response.on('end', () => resolve(frames))
      }).on('error', reject)
    })
  const timed = async (work: () => Promise<number>) => {
    const started = performance.now()
    const seen = await work()
    // A frame's start may fall on the edge of a chunk and escape the counting.
    if (seen < count * 0.99) throw new Error(`only ${seen} of ${count} events arrived`)
    return (count * 1000) / (performance.now() - started)
  }
  const ways = {
    bare: () => select('usual_events'),
    'the log itself': () => select('execution_events'),
    replay,
  }
  const perSecond: Record<string, number[]> = {}
  for (const way of Object.values(ways)) await timed(way)
  for (let round = 0; round < rounds; round++) {
    for (const [name, way] of Object.entries(ways))
      perSecond[name] = [...(perSecond[name] ?? []), await timed(way)]
  }
  const ratioTo = (name: string) =>
    median((perSecond['replay'] ?? []).map((figure, round) => figure / (perSecond[name]?.[round] ?? 1)))
  console.log(`${count} events, read at once or replayed over HTTP, events a second:`)
  for (const [name, figures] of Object.entries(perSecond))
    console.log(`  ${name.padEnd(15)} ${median(figures).toFixed(0)}`)
  console.log(`replay, of reading the log itself: ${ratioTo('the log itself').toFixed(2)}`)
  checkBar('replay, of bare SELECT', ratioTo('bare'), 'at least', requiredRatio)
} finally {
  for (const { child } of programs) child.kill()
  await client.end()
  await parts.stop()
}
