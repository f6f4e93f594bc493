import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { patiently } from '../support/patience.ts'
import { pidsOf, until } from '../support/processes.ts'
import { definitionOf, type Runs, runsOf } from '../support/workflows.ts'
import { countCalls } from './engine-evidence.ts'

export interface WaitingOptions {
  readonly suspended: number
  readonly sleeping: number
  /** How many of each are ended at random: suspended ones by an answer, sleeping ones by a cancellation. */
  readonly ended: number
  /** How often lists and details are read. */
  readonly looks: number
  readonly say?: (line: string) => void
}

interface Latency {
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface WaitingOutcome {
  readonly violations: string[]
  readonly figures: {
    readonly launchesPerSecond: number
    readonly resumesPerSecond: number
    readonly workerMiB: { readonly before: number[]; readonly after: number[] }
    readonly engineMiB: { readonly before: number; readonly after: number }
    readonly list: Latency
    readonly detail: Latency
  }
}

/** Twice what an idle worker lives on: one that held what waits would die of it. */
const heapMiB = 128
const clients = 16
const warmUps = 200
const sayEvery = 2000
const settledWithinMs = 120_000
const longSleepMs = 24 * 60 * 60_000

const tool = (id: string, toolId: string) => ({ type: 'tool', id, toolId })
const graphs = {
  quick: [tool('first', 'echo'), tool('second', 'echo')],
  ask: [
    tool('first', 'echo'),
    { type: 'mapping', id: 'question', mapConfig: '{"question":{"value":"Go on?"}}' },
    tool('ask', 'ask-human'),
    tool('last', 'echo'),
  ],
  nap: [tool('first', 'echo'), { type: 'sleep', id: 'sleep', duration: longSleepMs }, tool('last', 'echo')],
}

interface Place {
  readonly stack: SpawnedStack
  readonly app: Caller
  readonly person: Person
  readonly runs: Runs
}

/** Has one workspace hold many runs that wait, and looks at what they cost and whether they can still be ended. */
export async function measureWaitingRuns(options: WaitingOptions): Promise<WaitingOutcome> {
  // The place for what is young is Node's usual one: by itself it would shrink with the rest, and little else be done
  // than collecting.
  const heap = `NODE_OPTIONS=--max-old-space-size=${heapMiB} --max-semi-space-size=16`
  const stack = await spawnStack(['--workers', '2', '--limits', 'off', '--env', heap])
  try {
    const app = createCaller(stack.baseUrl)
    const person = await app.newPerson()
    const runs = runsOf(app, person)
    for (const [slug, graph] of Object.entries(graphs)) await runs.install(slug, definitionOf(slug, graph))
    return await measure({ stack, app, person, runs }, options)
  } finally {
    await stack.stop()
  }
}

async function measure(place: Place, options: WaitingOptions): Promise<WaitingOutcome> {
  const { stack, runs } = place
  const { say = () => {} } = options
  // What a process holds after some work of the same kind, and not what it was born with.
  for (const runId of (await launchAll(place, 'quick', warmUps, say)).ids)
    await runs.reaches(runId, ['success'])
  const before = memoryOf(stack)
  const pids = pidsOf(stack.dir)

  const asking = await launchAll(place, 'ask', options.suspended, say)
  const sleeping = await launchAll(place, 'nap', options.sleeping, say)
  const waiting = options.suspended + options.sleeping
  await until(async () => (await countDriven(stack, 'suspended')) === waiting, settledWithinMs)
  const heldByWorkers = await countDriven(stack, 'running')
  const after = memoryOf(stack)
  say('all of them wait, put aside')

  const list = await timeLists(place, options.looks)
  const detail = await timeDetails(place, [...asking.ids, ...sleeping.ids], options.looks)
  say('lists and details read')
  const { violations, perSecond } = await endSome(place, asking.ids, sleeping.ids, options.ended)
  const left = waiting - 2 * options.ended
  await until(async () => (await countOpen(stack)) === left, settledWithinMs)
  if (!isDeepStrictEqual(pidsOf(stack.dir), pids)) violations.push('a process died: see what it held')
  if (heldByWorkers > 0) violations.push(`${heldByWorkers} runs that wait are held by a worker`)
  return {
    violations,
    figures: {
      launchesPerSecond: rounded(waiting / (asking.seconds + sleeping.seconds)),
      resumesPerSecond: rounded(perSecond),
      workerMiB: { before: before.workers, after: after.workers },
      engineMiB: { before: before.engine, after: after.engine },
      list,
      detail,
    },
  }
}

async function launchAll({ runs }: Place, slug: string, count: number, say: (line: string) => void) {
  const ids: string[] = []
  const begun = performance.now()
  await inParallel(count, async (n) => {
    const answer = await patiently(() => runs.launch(slug, { n }))
    if (answer.status !== 201) throw new Error(`${slug} was not launched: ${answer.text}`)
    ids.push(answer.body.runId)
    if (ids.length % sayEvery === 0 || ids.length === count) {
      const perSecond = (ids.length * 1000) / (performance.now() - begun)
      say(`${slug}: ${ids.length} of ${count} launched, ${perSecond.toFixed(0)} a second`)
    }
  })
  return { ids, seconds: (performance.now() - begun) / 1000 }
}

/** Goes through the pages of the whole list and of two filtered ones, over and over. */
async function timeLists({ app, person }: Place, looks: number): Promise<Latency> {
  const filters = ['', '&status=suspended', '&status=running']
  const cursors = new Map<string, string | null>()
  const times: number[] = []
  for (let look = 0; look < looks; look++) {
    const filter = filters[look % filters.length] ?? ''
    const cursor = cursors.get(filter)
    const from = cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''
    const begun = performance.now()
    const path = `/api/v1/workflows/runs?limit=50${filter}${from}`
    const answer = await app.call('GET', path, { token: person.token })
    times.push(performance.now() - begun)
    if (answer.status !== 200) throw new Error(`no list: ${answer.text}`)
    cursors.set(filter, answer.body.nextCursor)
  }
  return latencyOf(times)
}

async function timeDetails({ runs }: Place, ids: readonly string[], looks: number): Promise<Latency> {
  const times: number[] = []
  for (let look = 0; look < looks; look++) {
    const begun = performance.now()
    const answer = await runs.get(ids[Math.floor(Math.random() * ids.length)] ?? '')
    times.push(performance.now() - begun)
    if (answer.status !== 200) throw new Error(`no detail: ${answer.text}`)
  }
  return latencyOf(times)
}

/** Answers and cancels random ones; tells of each that did not end as it should. */
async function endSome(
  { runs }: Place,
  asking: readonly string[],
  sleeping: readonly string[],
  count: number,
): Promise<{ violations: string[]; perSecond: number }> {
  const violations: string[] = []
  const expectOk = (runId: string, { status, text }: { status: number; text: string }) => {
    if (status !== 200) violations.push(`${runId} was not ended: ${text}`)
  }
  const answered = someOf(asking, count)
  const begun = performance.now()
  await inParallel(count, async (n) => {
    const runId = answered[n] ?? ''
    expectOk(runId, await patiently(() => runs.resume(runId, { resumeData: 'yes' })))
    const { run } = await runs.reaches(runId, ['success', 'failed', 'canceled'])
    if (run.status !== 'success') violations.push(`${runId} was answered and is ${run.status}`)
  })
  const perSecond = count / ((performance.now() - begun) / 1000)
  const canceled = someOf(sleeping, count)
  await inParallel(count, async (n) => expectOk(canceled[n] ?? '', await runs.cancel(canceled[n] ?? '')))
  return { violations, perSecond }
}

/** Suspended runs are only in the engine's store; running ones are open in a worker. */
async function countDriven(stack: SpawnedStack, status: 'suspended' | 'running'): Promise<number> {
  return count(stack, `status = '${status}'`)
}

async function countOpen(stack: SpawnedStack): Promise<number> {
  return count(stack, `status != 'completed'`)
}

async function count(stack: SpawnedStack, condition: string): Promise<number> {
  const isRun = `target_service_name = 'WorkflowRun' and target_handler_name = 'run'`
  return countCalls(stack, `${isRun} and ${condition}`)
}

function memoryOf({ dir }: SpawnedStack): { workers: number[]; engine: number } {
  const { worker, restate } = pidsOf(dir)
  return { workers: worker.map(residentMiB), engine: residentMiB(restate) }
}

function residentMiB(pid: number): number {
  const kiB = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Math.round(Number(kiB) / 1024)
}

async function inParallel(times: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0
  const client = async () => {
    while (next < times) await work(next++)
  }
  await Promise.all(Array.from({ length: clients }, client))
}

function someOf(ids: readonly string[], count: number): string[] {
  const left = [...ids]
  return Array.from({ length: count }, () => left.splice(Math.floor(Math.random() * left.length), 1)).flat()
}

function latencyOf(times: readonly number[]): Latency {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => rounded(sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN)
  return { p50Ms: at(0.5), p99Ms: at(0.99) }
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10
}
