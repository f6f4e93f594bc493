import { get } from 'node:http'
import { parseArgs } from 'node:util'
import pg from 'pg'
import {
  addressOf,
  checkBar,
  insertExecutions,
  median,
  openParts,
  type Program,
  startProgram,
} from './event-parts.ts'

/** Replaying a long log over HTTP against reading it whole with a bare SELECT, interleaved. */
const { values: options } = parseArgs({
  options: { events: { type: 'string', default: '100000' }, rounds: { type: 'string', default: '7' } },
})
const requiredRatio = 0.5

const parts = await openParts()
const programs: Program[] = []
const client = new pg.Client({ connectionString: parts.databaseUrl })
try {
  await client.connect()
  const count = Number(options.events)
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
  await client.query('vacuum analyze execution_events')
  const holder = await startProgram('stream-process.ts', parts.env)
  programs.push(holder)

  const select = async () => {
    const text =
      'select sequence, type, payload::text from execution_events where execution_id = $1 order by sequence'
    const { rows } = await client.query({ name: 'all', text, values: [id] })
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
  const runs = { select: [] as number[], replay: [] as number[] }
  await timed(select)
  await timed(replay)
  for (let round = 0; round < Number(options.rounds); round++) {
    runs.select.push(await timed(select))
    runs.replay.push(await timed(replay))
  }
  console.log(
    `${count} events: bare SELECT ${median(runs.select).toFixed(0)} events/s, replay over HTTP ${median(runs.replay).toFixed(0)} events/s`,
  )
  const ratio = median(runs.replay.map((figure, index) => figure / (runs.select[index] ?? Number.NaN)))
  checkBar('replay, of bare SELECT', ratio, 'at least', requiredRatio)
} finally {
  for (const { child } of programs) child.kill()
  await client.end()
  await parts.stop()
}
