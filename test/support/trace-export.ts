import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import pg from 'pg'
import type { SpawnedStack } from '../../stack/client.ts'
import { createCaller, type Person } from './caller.ts'

const prose =
  'The report shows that sales rose by 12 % in March; see /workspace/report.md, and run `npm test` once more. '
const found = JSON.stringify({
  id: '6f1ed002-ab12-4f3e-8f4b-1a2b3c4d5e6f',
  sha: 'd7198b5fa0e11c0d7198b5fa0e11c0d7198b5fa0',
  line: "const hosts = readFileSync('/etc/hosts', 'utf8').split('\\n')",
})
/** About a kilobyte each: what is said, what a tool is given and what it answers. */
const payloads: readonly (readonly [type: string, payload: object])[] = [
  ['agent.text', { content: [{ type: 'text', text: prose.repeat(10) }] }],
  ['tool.call', { name: 'bash', toolUseId: 'toolu_1', input: prose.repeat(8) }],
  ['tool.result', { toolUseId: 'toolu_1', isError: false, output: found.repeat(6) }],
]
const turnsPerInsert = 5000
const lookEveryMs = 10
const warmth = 1

export interface ExportFigures {
  /** In MiB, of the process that answered, beyond what it had after shorter exports. */
  readonly grownMiB: number
  /** Of the same text: reading it bare takes this share of the time that the export takes. */
  readonly ratio: number
  readonly bytes: number
}

/** A trace with so many turns, exported by the API against a bare SELECT of the same text, one after the other. */
export async function measureExport(
  stack: SpawnedStack,
  { turns, rounds, format }: { turns: number; rounds: number; format: string },
): Promise<ExportFigures> {
  const app = createCaller(stack.apiUrls[0] ?? '')
  const person = await app.newPerson()
  const client = new pg.Client({ connectionString: stack.databaseUrl })
  await client.connect()
  try {
    const [short, long] = [await newTrace(app, person), await newTrace(app, person)]
    await insertTurns(client, short, Math.min(turns, 10_000))
    await insertTurns(client, long, turns)
    await client.query('vacuum analyze trace_turns')
    const pid = stack.pids.api[0] ?? 0
    const export_ = (traceId: string) =>
      download(`${stack.apiUrls[0]}/api/v1/traces/${traceId}/export?content=on&format=${format}`, person)
    // As many turns in shorter files: the collector lets a process grow with what it does, which says nothing of length.
    const shortTurns = Math.min(turns, 10_000)
    for (let done = 0; done < turns * warmth; done += shortTurns) await export_(short)
    const before = residentMiB(pid)
    let peak = before
    const watch = setInterval(() => {
      peak = Math.max(peak, residentMiB(pid))
    }, lookEveryMs)
    let bytes = 0
    const ratios: number[] = []
    try {
      for (let round = 0; round < rounds; round++) {
        const bareMs = await timed(() => selectBare(client, long, turns))
        const exportMs = await timed(async () => {
          bytes = await export_(long)
        })
        ratios.push(bareMs / exportMs)
      }
    } finally {
      clearInterval(watch)
    }
    const ratio = ratios.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0
    return { grownMiB: peak - before, ratio, bytes }
  } finally {
    await client.end()
  }
}

async function newTrace({ call }: ReturnType<typeof createCaller>, { token }: Person): Promise<string> {
  await call('POST', '/api/v1/skills/csv-report/install', { token })
  const body = { skill_slug: 'csv-report', input: 'Never started' }
  const made = await call('POST', '/api/v1/executions', { token, body })
  const status = await call('GET', `/api/v1/executions/${made.body.id}/status`, { token })
  return status.body.traceId
}

async function insertTurns(client: pg.Client, traceId: string, turns: number): Promise<void> {
  for (let done = 0; done < turns; done += turnsPerInsert) {
    const count = Math.min(turnsPerInsert, turns - done)
    await client.query(
      `insert into trace_turns (trace_id, seq, type, payload, user_id)
       select $1, $2::int + g, ($3::text[])[1 + g % 3], ($4::text[])[1 + g % 3], gen_random_uuid()
       from generate_series(1, $5::int) g`,
      [
        traceId,
        done,
        payloads.map(([type]) => type),
        payloads.map(([, payload]) => JSON.stringify(payload)),
        count,
      ],
    )
  }
  await client.query('update traces set last_seq = $2::int, appended_turns = $2::int where id = $1', [
    traceId,
    turns,
  ])
}

/** As one would without anything else: one statement, each row's text. */
async function selectBare(client: pg.Client, traceId: string, turns: number): Promise<void> {
  const text = 'select seq, type, payload, at from trace_turns where trace_id = $1 order by seq'
  const { rows } = await client.query({ name: 'bare', text, values: [traceId] })
  if (rows.length !== turns) throw new Error(`${rows.length} of ${turns} turns`)
}

function download(url: string, { token }: Person): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false, headers: { 'x-auth-token': token } }, (response) => {
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      response.on('error', reject)
      response.on('end', () =>
        response.statusCode === 200 ? resolve(bytes) : reject(new Error(`answered ${response.statusCode}`)),
      )
    }).on('error', reject)
  })
}

async function timed(work: () => Promise<void>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
}
