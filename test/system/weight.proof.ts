import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { installErrand } from '../support/executions.ts'
import { pidsOf } from '../support/processes.ts'
import { expectWithin, tell } from '../support/proof.ts'
import { readSteadily } from '../support/steady-reads.ts'
import { definitionOf, runsOf } from '../support/workflows.ts'
import { calmStack, type SharedStack } from './support/shared-stacks.ts'

/** What sixty of the heaviest requests may cost a stranger who reads from the same process. */
const strangerMs = 250
/** And how much more memory the process may take: of the 64 MiB that one credential may hold, several copies are made. */
const mostGrownMiB = 384

let stack: SharedStack
let app: Caller
let attacker: Person
let strangersKey: string
let database: pg.Client

beforeAll(async () => {
  stack = await calmStack()
  app = createCaller(stack.apiUrls[0] ?? '')
  attacker = await app.newPerson()
  strangersKey = (await app.newKey(await app.newPerson())).secret
  database = new pg.Client({ connectionString: stack.databaseUrl })
  await database.connect()
})

afterAll(() => database?.end())

function residentMiB(pid: number): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) / 1024
}

/**
 * By how long a stranger waits, and by how much the process grows, while they are sent. Of three times the one in the
 * middle is judged: of so few reads the slowest is as often the machine's as the attack's.
 */
async function weigh(about: string, attack: () => Promise<Record<string, number>>): Promise<void> {
  const rounds = [
    await weighOnce(about, attack),
    await weighOnce(about, attack),
    await weighOnce(about, attack),
  ]
  const [, middle = 0] = rounds.map(({ p99Ms }) => p99Ms).sort((a, b) => a - b)
  expectWithin(middle, strangerMs, about)
  expect(Math.max(...rounds.map(({ grownMiB }) => grownMiB)), about).toBeLessThan(mostGrownMiB)
}

async function weighOnce(about: string, attack: () => Promise<Record<string, number>>) {
  const [pid = 0] = pidsOf(stack.dir).api
  const read = (api: number) => readSteadily(`${stack.apiUrls[api]}/api/v1/agents/me`, strangersKey)
  const calm = await read(0)
  await new Promise((resolve) => setTimeout(resolve, 1000))
  const before = await calm()
  const residentBefore = residentMiB(pid)
  let resident = residentBefore
  const looking = setInterval(() => {
    resident = Math.max(resident, residentMiB(pid))
  }, 50)
  // Of the other process, what the attack costs the machine is seen and nothing else.
  const [reads, controls] = [await read(0), await read(1)]
  const began = performance.now()
  const answers = await attack()
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  const [during, control] = [await reads(), await controls()]
  clearInterval(looking)
  const grownMiB = Math.round(resident - residentBefore)
  tell(
    `${about}: ${JSON.stringify(answers)} in ${seconds} s; p99 of ${during.count} reads of a stranger ` +
      `${during.p99Ms} ms, ${control.p99Ms} ms of the other process and ${before.p99Ms} ms before; the process ` +
      `grew by ${grownMiB} MiB`,
  )
  return { p99Ms: during.p99Ms, grownMiB }
}

async function statusesOf(answers: Promise<number | string>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const status of await Promise.all(answers)) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

const sixty = (ask: () => Promise<number | string>) => statusesOf(Array.from({ length: 60 }, ask))

/** Of one that was not answered. */
const codeOf = (error: { cause?: { code?: string } }) => error.cause?.code ?? String(error)

/** Every byte is taken, and none of it is looked at. */
async function take(path: string, init: RequestInit = {}): Promise<number | string> {
  const answer = await fetch(`${stack.apiUrls[0]}/api/v1${path}`, init)
  for await (const _part of answer.body ?? []);
  return answer.status
}

const fields = (count: number) =>
  `{${Array.from({ length: count }, (_, index) => `"f${index}":0`).join(',')}}`

test('sixty bodies of unknown fields from nobody in particular', async () => {
  const headers = { 'content-type': 'application/json' }
  const body = fields(100_000)
  await weigh('1 MB of unknown fields', () =>
    sixty(() => take('/activate/poll', { method: 'POST', headers, body }).catch(codeOf)),
  )
})

test('sixty bodies of unknown fields by a key', async () => {
  const { secret } = await app.newKey(attacker)
  const headers = { 'content-type': 'application/json', 'x-api-key': secret }
  const body = fields(590_000)
  await weigh('7 MB of unknown fields', () =>
    sixty(() => take('/executions', { method: 'POST', headers, body }).catch(codeOf)),
  )
})

/** A run of nine steps that got and gave a text of 800 kB each. */
async function newLargeRun(): Promise<string> {
  const runId = await runsOf(app, attacker).start('heavy')
  await runsOf(app, attacker).reaches(runId, ['success'])
  await database.query(
    `update workflow_steps set record = json_build_object('status', 'success', 'startedAt', 1, 'endedAt', 2,
       'payload', json_build_object('text', t.text), 'output', json_build_object('text', t.text))
     from (select string_agg(md5(i::text), '') as text from generate_series(1, 25600) i) t where run_id = $1`,
    [runId],
  )
  return runId
}

test('forty reads of a run of 14.7 MB, and lists of it', { timeout: 300_000 }, async () => {
  const steps = Array.from({ length: 9 }, (_, n) => ({ type: 'tool', id: `step${n}`, toolId: 'echo' }))
  await runsOf(app, attacker).install('heavy', definitionOf('heavy', steps))
  const runIds: string[] = []
  for (let made = 0; made < 10; made++) runIds.push(await newLargeRun())
  const headers = { 'x-auth-token': attacker.token }
  const read = (path: string) => take(path, { headers }).catch(codeOf)
  await weigh('forty reads of 14.7 MB', () =>
    statusesOf(Array.from({ length: 40 }, () => read(`/workflows/runs/${runIds[0]}`))),
  )
  await weigh('sixty lists of such runs', () => sixty(() => read('/workflows/runs?limit=100')))
  expect(await read(`/workflows/runs/${runIds[0]}`)).toBe(200)
})

test('sixty times an artifact of 9.9 MB, attached twenty times by its id', { timeout: 300_000 }, async () => {
  const token = attacker.token
  const content = randomBytes(3_700_000).toString('hex').concat('.'.repeat(2_500_000))
  const file = { type: 'file', name: 'Heavy', files: [{ path: 'heavy.txt', content }] }
  const made = await app.call('POST', '/api/v1/artifacts', { token, body: file })
  expect(made.status, made.text).toBeLessThan(300)
  await installErrand(app, attacker)
  const attachments = Array.from({ length: 20 }, (_, index) => ({
    name: `${index}.txt`,
    artifactId: made.body.id,
  }))
  const headers = { 'x-auth-token': token, 'content-type': 'application/json' }
  const body = JSON.stringify({ skill_slug: 'errand', input: 'Read.', attachments })
  await weigh('sixty times twenty attachments of 9.9 MB', () =>
    sixty(() => take('/executions', { method: 'POST', headers, body }).catch(codeOf)),
  )
})
