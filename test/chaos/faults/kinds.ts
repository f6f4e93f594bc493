import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { exchange } from '../../../stack/probes.ts'
import { withDatabase } from '../../support/database.ts'
import { until } from '../../support/processes.ts'
import { livingOf, type Part } from '../part-faults.ts'
import type { FaultKind, FaultParts, Met } from './fault.ts'
import { shuffled } from './fault.ts'
import { childrenOf, listSandboxes, signalOwn } from './own-processes.ts'

const foundWithinMs = 15_000
const againWithinMs = 60_000
const lockSeconds = 18
const fullSeconds = 6
const nobody: { rows: { worker_id: string }[] } = { rows: [] }

/** One process of a part; of the workers rather one that has an execution. */
async function pick({ stack, random }: FaultParts, part: Part): Promise<number> {
  await until(() => livingOf(stack.dir, part).length > 0, againWithinMs)
  const living = livingOf(stack.dir, part)
  const busy =
    part === 'worker' ? (await busyWorkers(stack.databaseUrl)).filter((pid) => living.includes(pid)) : []
  const [pid = 0] = shuffled(busy.length > 0 ? busy : living, random)
  return pid
}

/** Workers name themselves host/pid/number. */
async function busyWorkers(databaseUrl: string): Promise<number[]> {
  const query = `select distinct worker_id from executions where status = 'working' and worker_id is not null`
  const found = withDatabase(databaseUrl, (database) => database.query<{ worker_id: string }>(query))
  // A database that is paused by another fault does not keep this one.
  const { rows } = await Promise.race([found, delay(1000, nobody)]).catch(() => nobody)
  return rows.map(({ worker_id }) => Number(worker_id.split('/')[1]))
}

const kill = (part: Part): FaultKind => ({
  name: `${part}-kill`,
  part,
  aim: part === 'restate' ? 'runs' : 'starts',
  seconds: 1,
  fire: async (parts) => {
    const pid = await pick(parts, part)
    signalOwn(parts.stack, pid, 'SIGKILL')
    return { pids: [pid] }
  },
})

/** PostgreSQL is many processes: its first one, so that it makes no others, and then those. */
async function pauseFor(
  { stack }: FaultParts,
  pid: number,
  seconds: number,
  withChildren = false,
): Promise<Met> {
  const paused = [pid]
  try {
    signalOwn(stack, pid, 'SIGSTOP')
    if (withChildren) {
      for (const child of childrenOf(pid)) if (signalOwn(stack, child, 'SIGSTOP')) paused.push(child)
    }
    await delay(seconds * 1000)
  } finally {
    for (const each of paused.toReversed()) signalOwn(stack, each, 'SIGCONT')
  }
  return { pids: [pid], note: `${seconds} s` }
}

const pause = (part: Part, seconds: number): FaultKind => ({
  name: `${part}-pause-${seconds}`,
  part,
  aim: part === 'restate' ? 'runs' : 'starts',
  seconds,
  fire: async (parts) => pauseFor(parts, await pick(parts, part), seconds, part === 'postgres'),
})

const workerPausedAtEngineRestart: FaultKind = {
  name: 'worker-paused-at-engine-restart',
  part: 'restate',
  aim: 'runs',
  seconds: 8,
  fire: async (parts) => {
    const { stack } = parts
    const worker = await pick(parts, 'worker')
    const engine = await pick(parts, 'restate')
    signalOwn(stack, worker, 'SIGSTOP')
    try {
      signalOwn(stack, engine, 'SIGKILL')
      await until(() => livingOf(stack.dir, 'restate').some((pid) => pid !== engine), againWithinMs)
      // Long enough that the engine gives the runs to the other worker.
      await delay(7000)
    } finally {
      signalOwn(stack, worker, 'SIGCONT')
    }
    return { pids: [worker, engine] }
  },
}

const sandboxKill: FaultKind = {
  name: 'sandbox-kill',
  part: 'sandbox',
  aim: 'starts',
  seconds: 1,
  fire: async ({ stack, random }) => {
    let [victim] = shuffled(listSandboxes(stack), random)
    await until(() => {
      ;[victim] = shuffled(listSandboxes(stack), random)
      return victim !== undefined
    }, foundWithinMs)
    for (const pid of victim?.pids ?? []) signalOwn(stack, pid, 'SIGKILL')
    return { executionIds: [victim?.executionId ?? ''], pids: victim?.pids ?? [] }
  },
}

const storageFull: FaultKind = {
  name: 'storage-full',
  part: 'storage',
  aim: 'starts',
  seconds: fullSeconds,
  fire: async ({ disk }) => {
    const makeRoom = await disk.fill()
    try {
      await delay(fullSeconds * 1000)
    } finally {
      makeRoom()
    }
    return { note: `${fullSeconds} s` }
  },
}

const redisFlush: FaultKind = {
  name: 'redis-flush',
  part: 'redis',
  aim: 'starts',
  seconds: 1,
  fire: async ({ stack }) => {
    const port = Number(new URL(stack.redisUrl).port)
    const flush = () => exchange(port, 'FLUSHALL\r\n', (heard) => heard.startsWith('+OK'))
    await until(flush, againWithinMs)
    return {}
  },
}

const connectionsCut: FaultKind = {
  name: 'connections-cut',
  part: 'postgres',
  aim: 'starts',
  seconds: 1,
  fire: async ({ stack }) => {
    const cut = `select count(pg_terminate_backend(pid))::int as cut from pg_stat_activity
      where pid <> pg_backend_pid() and backend_type = 'client backend'`
    const { rows } = await withDatabase(stack.databaseUrl, (database) => database.query(cut))
    return { note: `${rows[0].cut} connections` }
  },
}

/** Somebody holds rows that are being worked on: an execution's, and the run's that advances in another workspace. */
const rowsLocked: FaultKind = {
  name: `rows-locked-${lockSeconds}`,
  part: 'postgres',
  aim: 'runs',
  seconds: lockSeconds,
  fire: async ({ stack }) =>
    withDatabase(stack.databaseUrl, async (database) => {
      await database.query('begin')
      const held: string[] = []
      await until(async () => {
        held.push(...(await lockOne(database, lockExecution)), ...(await lockOne(database, lockRun)))
        return held.length > 0
      }, foundWithinMs)
      await delay(lockSeconds * 1000)
      await database.query('rollback')
      return { note: held.join(', ') }
    }),
}

const lockExecution = `select execution_id as id from executions where status = 'working' order by random() limit 1
  for update skip locked`
const lockRun = `select run_id as id from workflow_runs where status = 'running' and advancing order by random() limit 1
  for update skip locked`

async function lockOne(database: pg.Client, query: string): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>(query)
  return rows.map(({ id }) => id)
}

const single: readonly FaultKind[] = [
  kill('postgres'),
  pause('postgres', 3),
  pause('postgres', 10),
  pause('postgres', 24),
  kill('redis'),
  pause('redis', 5),
  redisFlush,
  kill('restate'),
  pause('restate', 5),
  pause('restate', 15),
  kill('api'),
  pause('api', 2.5),
  pause('api', 10),
  pause('api', 30),
  kill('worker'),
  pause('worker', 2.5),
  pause('worker', 10),
  pause('worker', 30),
  workerPausedAtEngineRestart,
  sandboxKill,
  storageFull,
  connectionsCut,
  rowsLocked,
]

const twoAtOnce: FaultKind = {
  name: 'two-at-once',
  part: 'two',
  aim: 'starts',
  seconds: 10,
  fire: async (parts) => {
    const short = single.filter(({ seconds }) => seconds <= 10)
    const [first] = shuffled(short, parts.random)
    const [second] = shuffled(
      short.filter(({ part }) => part !== first?.part),
      parts.random,
    )
    const both = [first, second].filter((kind) => kind !== undefined)
    // One that cannot find what it wants because of the other has still been fired.
    const met = await Promise.allSettled(both.map((kind) => kind.fire(parts)))
    const fired = met.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const missed = met.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []))
    if (fired.length === 0) throw new Error(`neither of two faults could be made: ${missed.join('; ')}`)
    return {
      pids: fired.flatMap(({ pids = [] }) => pids),
      executionIds: fired.flatMap(({ executionIds = [] }) => executionIds),
      note: [...both.map(({ name }) => name), ...missed].join(' and '),
    }
  },
}

export const faultKinds: readonly FaultKind[] = [...single, twoAtOnce]
