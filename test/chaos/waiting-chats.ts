import { readFileSync } from 'node:fs'
import pg from 'pg'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { patiently } from '../support/patience.ts'
import { pidsOf, until } from '../support/processes.ts'
import { countCalls } from './engine-evidence.ts'

export interface WaitingChatsOptions {
  /** How many runs wait for a person, spread over the workspaces. */
  readonly waiting: number
  readonly people: number
  /** How many of them are decided at once. */
  readonly decided: number
  readonly say?: (line: string) => void
}

interface Load {
  readonly workersMiB: number[]
  readonly engineMiB: number
  /** Of a second, by all processes of the API and workers, and by PostgreSQL. */
  readonly ownCpu: number
  readonly databaseCpu: number
}

export interface WaitingChatsOutcome {
  readonly violations: string[]
  readonly figures: {
    readonly before: Load
    readonly after: Load
    readonly goOnSeconds: { readonly p50: number; readonly p99: number; readonly most: number }
  }
}

const clients = 16
const measuredSeconds = 8
const settledWithinMs = 600_000
const warmUps = 200

interface Place {
  readonly stack: SpawnedStack
  readonly pool: pg.Pool
  readonly app: Caller
  readonly people: readonly Person[]
  readonly say: (line: string) => void
}

/** Runs of chats that wait for a person's yes: what they cost while they wait, and how soon many go on at once. */
export async function measureWaitingChats(options: WaitingChatsOptions): Promise<WaitingChatsOutcome> {
  const stack = await spawnStack(['--workers', '2', '--limits', 'off'])
  const pool = new pg.Pool({ connectionString: stack.databaseUrl, max: 4 })
  try {
    const app = createCaller(stack.baseUrl)
    const people: Person[] = []
    for (let n = 0; n < options.people; n++) {
      const person = await app.newPerson({ mode: 'basedmode' })
      const body = { tools: ['http-request'] }
      const changed = await app.call('PATCH', '/api/v1/agents/assistant', { token: person.token, body })
      if (changed.status !== 200) throw new Error(changed.text)
      people.push(person)
    }
    return await measure({ stack, pool, app, people, say: options.say ?? (() => {}) }, options)
  } finally {
    await pool.end()
    await stack.stop()
  }
}

async function measure(
  place: Place,
  { waiting, decided }: WaitingChatsOptions,
): Promise<WaitingChatsOutcome> {
  const { pool, stack, say } = place
  // What a process holds after some work of the same kind, and not what it was born with.
  await sendAll(place, 'warm', warmUps, { say: 'Warm.' })
  await until(async () => (await countRuns(pool, 'completed')) === warmUps, settledWithinMs)
  const before = await loadOf(stack)
  const asking = { tools: [{ name: 'http-request', input: { url: 'https://nowhere.invalid/' } }] }
  await sendAll(place, 'waits', waiting, asking, { say: 'Done.' })
  await until(async () => (await countRuns(pool, 'waiting')) === waiting, settledWithinMs)
  say('all of them wait')
  const violations: string[] = []
  await until(async () => (await countCalls(stack, openCalls)) === 0, 30_000).catch(() =>
    violations.push('calls of runs that wait are open in the engine'),
  )
  const after = await loadOf(stack)
  const times = await decideSome(place, decided, violations)
  const left = await countRuns(pool, 'waiting')
  if (left !== waiting - decided) violations.push(`${left} wait, and ${waiting - decided} should`)
  const at = (share: number) =>
    rounded(times.toSorted((a, b) => a - b)[Math.ceil(times.length * share) - 1] ?? Number.NaN)
  return { violations, figures: { before, after, goOnSeconds: { p50: at(0.5), p99: at(0.99), most: at(1) } } }
}

const openCalls = `target_service_name = 'Thread' and status != 'completed'`

async function sendAll({ app, people, say }: Place, name: string, count: number, ...steps: object[]) {
  const message = `Please.\n\`\`\`script\n${JSON.stringify({ steps })}\n\`\`\``
  const begun = performance.now()
  await inParallel(count, async (n) => {
    const person = people[n % people.length]
    if (!person) return
    const body = { resourceId: person.workspaceId, threadId: `${name}-${n}`, message }
    const { token } = person
    const path = '/api/v1/agents/assistant/send-message'
    for (;;) {
      const answer = await patiently(() => app.call('POST', path, { token, body }))
      if (answer.status === 202) break
      // As many as may wait their turn do.
      if (answer.status !== 429) throw new Error(answer.text)
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
    if ((n + 1) % 1000 === 0)
      say(`${n + 1} of ${count} sent, ${((n * 1000) / (performance.now() - begun)).toFixed(0)} a second`)
  })
}

/** No by their people, all at once; gives how long each took from then to its end, in seconds. */
async function decideSome({ app, people, pool }: Place, count: number, violations: string[]) {
  const { rows } = await pool.query<{ id: number; ref: string; userId: string }>(
    `select id, wait_ref as ref, user_id as "userId" from thread_runs where status = 'waiting'
     order by md5(id::text) limit $1`,
    [count],
  )
  const tokens = new Map(people.map(({ userId, token }) => [userId, token]))
  await inParallel(rows.length, async (n) => {
    const { ref, userId } = rows[n] ?? { ref: '', userId: '' }
    const token = tokens.get(userId) ?? ''
    const path = `/api/v1/approvals/${ref}/deny`
    const answer = await patiently(() => app.call('POST', path, { token, body: {} }))
    if (answer.status !== 200) violations.push(`a decision was answered ${answer.status}`)
  })
  const ended = async () => {
    const found = await pool.query<{ seconds: number }>(
      `select extract(epoch from r.completed_at - a.decided_at)::float8 as seconds
       from unnest($1::bigint[], $2::text[]) as decided (id, ref)
       join thread_runs r on r.id = decided.id join approval_requests a on a.id = decided.ref
       where r.status = 'completed'`,
      [rows.map(({ id }) => id), rows.map(({ ref }) => ref)],
    )
    return found.rows.map(({ seconds }) => seconds)
  }
  await until(async () => (await ended()).length >= rows.length, 120_000).catch(() =>
    violations.push('not all that were decided went on'),
  )
  return ended()
}

async function countRuns(pool: pg.Pool, status: string): Promise<number> {
  const found = await pool.query<{ n: number }>(
    'select count(*)::int as n from thread_runs where status = $1',
    [status],
  )
  return found.rows[0]?.n ?? -1
}

async function loadOf({ dir }: SpawnedStack): Promise<Load> {
  const { worker, api, restate, postgres } = pidsOf(dir)
  const own = [...worker, ...api]
  const begun = { own: cpuOf(own), database: cpuOf(familyOf(postgres)) }
  await new Promise((resolve) => setTimeout(resolve, measuredSeconds * 1000))
  return {
    workersMiB: worker.map(residentMiB),
    engineMiB: residentMiB(restate),
    ownCpu: rounded((cpuOf(own) - begun.own) / measuredSeconds),
    databaseCpu: rounded((cpuOf(familyOf(postgres)) - begun.database) / measuredSeconds),
  }
}

function residentMiB(pid: number): number {
  const kiB = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Math.round(Number(kiB) / 1024)
}

/** In seconds so far. Clocks of processes tick a hundred times a second. */
function cpuOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const fields = readStat(pid)
    return sum + (Number(fields[11]) + Number(fields[12])) / 100
  }, 0)
}

/** What follows the name of a process, which may hold anything. */
function readStat(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  } catch {
    return []
  }
}

function familyOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return [pid, ...children.split(' ').filter(Boolean).map(Number)]
}

async function inParallel(times: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0
  const client = async () => {
    while (next < times) await work(next++)
  }
  await Promise.all(Array.from({ length: clients }, client))
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}
