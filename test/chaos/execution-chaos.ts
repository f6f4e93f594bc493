import type pg from 'pg'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { withDatabase } from '../support/database.ts'
import { newRunner } from '../support/executions.ts'
import { until } from '../support/processes.ts'
import { type ReadOptions, readToEnd } from './cut-reader.ts'
import { countOpen, listExecutionRows, readMoney, watchHolders } from './execution-evidence.ts'
import { type ExecutionRecord, findViolations, type History } from './execution-history.ts'
import { type Load, runLoad } from './execution-load.ts'
import { type FaultPlan, injectFaults, type KilledPart } from './part-faults.ts'

export interface ChaosOptions {
  readonly executions: number
  /** Runs at once, each in a workspace of its own. */
  readonly lanes: number
  readonly faults: FaultPlan
  readonly say?: (line: string) => void
}

export interface ChaosOutcome {
  readonly violations: string[]
  readonly figures: {
    readonly seconds: number
    readonly executions: Record<string, number>
    readonly refusals: Record<string, number>
    readonly faults: Record<KilledPart, number>
    readonly longestUnheldMs: number
    readonly events: number
  }
}

const demands = { readings: 3, cuts: 20, unheldMs: 60_000 }
/** In faults. */
const startsAhead = 3
const settledWithinMs = 120_000
const readAgainWithinMs = 60_000

/** Runs executions in a stack whose parts are killed all the time, and tells what must not have happened. */
export async function runExecutionChaos(options: ChaosOptions): Promise<ChaosOutcome> {
  const stack = await spawnStack(['--api', '2', '--workers', '2', '--limits', 'off'])
  try {
    return await withDatabase(stack.databaseUrl, (database) => loadUnderFaults(stack, database, options))
  } finally {
    await stack.stop()
  }
}

async function loadUnderFaults(
  stack: SpawnedStack,
  database: pg.Client,
  { executions, lanes, faults, say = () => {} }: ChaosOptions,
): Promise<ChaosOutcome> {
  const app = createCaller(stack.baseUrl)
  const people: Person[] = []
  for (let lane = 0; lane < lanes; lane++) people.push(await newRunner(app))
  const begun = performance.now()
  const counts: Record<KilledPart, number> = { api: 0, worker: 0, redis: 0, restate: 0 }
  const killedWorkers = new Set<number>()
  const holders = watchHolders(database)
  let made = 0
  const injecting = injectFaults(stack, faults, ({ part, pid }) => {
    made++
    counts[part]++
    if (part === 'worker') killedWorkers.add(pid)
    say(`kill -9 ${part} ${pid}`)
  })
  // Spread over the faults, so that each finds some at work.
  const next = (accepted: number) => {
    if (made === faults.count && accepted >= executions) return 'stop'
    return accepted < (executions * (made + startsAhead)) / faults.count ? 'start' : 'wait'
  }
  const loading = runLoad(app, people, { cuts: demands.cuts, next })
  try {
    await Promise.all([loading, injecting])
    await until(async () => (await countOpen(database)) === 0, settledWithinMs)
  } finally {
    await holders.stop()
  }
  const load = await loading
  const seen = { load, people, killedWorkers, longest: holders.longest }
  const history = await collect({ app, processUrls: stack.apiUrls, database }, seen)
  return {
    violations: findViolations(history, demands),
    figures: {
      seconds: Math.round((performance.now() - begun) / 1000),
      executions: countBy(history.executions.map(describeEnd)),
      refusals: load.refusals,
      faults: counts,
      longestUnheldMs: Math.max(0, ...history.executions.map((record) => record.longestUnheldMs)),
      events: history.executions.reduce((sum, { readings }) => sum + (readings[0]?.frames.length ?? 0), 0),
    },
  }
}

interface Seen {
  readonly load: Load
  readonly people: readonly Person[]
  readonly killedWorkers: ReadonlySet<number>
  readonly longest: ReadonlyMap<string, number>
}

interface Sources {
  readonly app: Caller
  readonly processUrls: readonly string[]
  readonly database: pg.Client
}

/** Every execution there is, also those whose start was not answered, each read anew from every process. */
async function collect({ app, processUrls, database }: Sources, seen: Seen): Promise<History> {
  const executions = []
  for (const { userId, ...row } of await listExecutionRows(database, seen.killedWorkers)) {
    const { executionId } = row
    const person = seen.people.find((one) => one.userId === userId)
    if (!person) throw new Error(`${executionId} belongs to nobody here`)
    const read = (options: Pick<ReadOptions, 'reader' | 'cuts' | 'processUrl'>) =>
      readToEnd(app, person, executionId, { ...options, withinMs: readAgainWithinMs })
    const replays = await Promise.all(
      processUrls.map((processUrl) => read({ reader: `a replay at ${processUrl}`, cuts: 0, processUrl })),
    )
    const live = seen.load.readings.get(executionId)
    const cut = live ?? (await read({ reader: 'the one that was cut, later', cuts: demands.cuts }))
    executions.push({
      ...row,
      accepted: live !== undefined,
      longestUnheldMs: seen.longest.get(executionId) ?? 0,
      readings: [...replays, cut],
    })
  }
  return { executions, ...(await readMoney(database)) }
}

function describeEnd({ status, errorCode, accepted }: ExecutionRecord): string {
  return [status, errorCode, accepted ? undefined : 'start not answered 200'].filter(Boolean).join(', ')
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
