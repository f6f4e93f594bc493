import { openSession, signInUser } from '../packages/server/src/accounts/sessions/sessions.ts'
import { closeDeps, openDeps } from '../packages/server/src/open-deps.ts'
import { Bus } from '../packages/server/src/platform/bus.ts'
import { readConfig } from '../packages/server/src/platform/config.ts'
import { createLogger } from '../packages/server/src/platform/logger.ts'
import { changeThread, say } from '../packages/server/src/running/threads/threads.ts'
import { checkBar, openParts, quantile } from './event-parts.ts'
import { readNumbers } from './options.ts'
import { type Program, startProgram } from './program.ts'

/**
 * Many subscribed threads in one process of the API: memory against a bare holder of as many streams, how long events take
 * to their readers, heartbeats, and a restart after which everybody comes back with the number they had.
 */
const { threads, rate, seconds, beats } = readNumbers({ threads: 10_000, rate: 2000, seconds: 10, beats: 1 })
const required = { memory: 1.5, latencyMs: 50, backSeconds: 10, beatSeconds: 25, beatSpread: 2 }
/** As a step of an agent writes several at once. */
const together = 4
const settleMs = 3000

type Memory = { rssMiB: number; heldMiB: number }
interface Seen {
  readonly latencies: number[]
  readonly gaps: number
  readonly doubled: number
  readonly firstBeatsMs: number[]
  /** The sum of the last numbers of all readers. */
  readonly total: number
}

const parts = await openParts()
const env = { ...parts.env, STREAMS_PER_CREDENTIAL: '100000' }
const deps = await openDeps(readConfig(env), createLogger('warn'), new AbortController().signal)
const writing = { ...deps, bus: new Bus(deps) }
const programs: Program[] = []
const start = async (file: string, more: Record<string, string> = {}) => {
  const program = await startProgram(file, { ...env, ...more })
  programs.push(program)
  return program
}
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

async function insertThreads() {
  const identity = {
    issuer: 'bench',
    subject: 'ada',
    email: 'ada@example.test',
    emailVerified: true,
    name: 'Ada',
  }
  const user = await signInUser(deps, identity)
  const { auth_token: token, current_workspace_id: workspaceId } = await deps.database.transaction((tx) =>
    openSession(tx, user, { userAgent: 'bench', address: '127.0.0.1' }),
  )
  const rows = await deps.database.db
    .insertInto('threads')
    .values(
      Array.from({ length: threads }, (_, n) => ({
        workspace_id: workspaceId,
        thread_id: `bench-${n}`,
        agent_slug: 'assistant',
        user_id: user.id,
        api_key_id: null,
        trace_id: `trace-${n}`,
      })),
    )
    .returning(['id', 'thread_id'])
    .execute()
  return { token, workspaceId, ids: rows.map(({ id }) => id), names: rows.map(({ thread_id }) => thread_id) }
}

let written = 0

/** Several events of one thread in one change, as many a second as were asked for. */
async function write(ids: readonly number[], forSeconds: number): Promise<void> {
  const begun = performance.now()
  const open = new Set<Promise<unknown>>()
  for (let changes = 0; performance.now() - begun < forSeconds * 1000; ) {
    const due = Math.floor(((performance.now() - begun) / 1000) * (rate / together))
    for (; changes < due; changes++) {
      const id = ids[(written / together) % ids.length] ?? 0
      written += together
      const change = changeThread(writing, id, (tx, thread) => {
        const content = `t=${performance.timeOrigin + performance.now()};${'x'.repeat(120)}`
        const event = { type: 'agent.message', payload: { messageId: 'm', content, readThrough: 0 } } as const
        return say(
          tx,
          thread,
          Array.from({ length: together }, () => event),
        )
      }).finally(() => open.delete(change))
      open.add(change)
    }
    await pause(5)
  }
  await Promise.all(open)
}

async function measureMemory(holder: Program, open: () => Promise<unknown>): Promise<number> {
  const before = await holder.ask<Memory>({})
  await open()
  await pause(settleMs)
  const after = await holder.ask<Memory>({})
  const kiB = ((after.rssMiB - before.rssMiB) * 1024) / threads
  console.log(
    `${kiB.toFixed(1)} KiB a stream, ${after.rssMiB.toFixed(0)} MiB in all, ${before.rssMiB.toFixed(0)} before`,
  )
  return kiB
}

try {
  const { token, workspaceId, ids, names } = await insertThreads()
  const bareHolder = await start('bare-stream-holder.ts')
  const bareClients = await start('stream-clients.ts')
  const urls = names.map((name) => `http://127.0.0.1:${bareHolder.port}/${name}`)
  const bare = await measureMemory(bareHolder, () => bareClients.ask({ urls }))
  bareClients.child.kill()
  bareHolder.child.kill()

  const holder = await start('api-process.ts')
  const clients = await start('thread-clients.ts')
  const open = { port: holder.port, token, workspaceId, threads: names }
  const ours = await measureMemory(holder, () => clients.ask({ open }))

  await write(ids, 2)
  await pause(1000)
  await clients.ask({ read: true })
  await write(ids, seconds)
  await pause(2000)
  const live = await clients.ask<Seen>({ read: true })
  const at = (share: number) => quantile(live.latencies, share).toFixed(1)
  console.log(
    `${(live.latencies.length / seconds).toFixed(0)} events/s to ${threads} readers: ` +
      `p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms, most ${at(1)} ms`,
  )

  if (beats > 0) await pause((required.beatSeconds + required.beatSpread) * 1000 - seconds * 1000)
  const { firstBeatsMs } = beats > 0 ? await clients.ask<Seen>({ read: true }) : live

  holder.child.kill('SIGKILL')
  // What is written while nobody serves is what they would miss.
  await write(ids, 1)
  const down = performance.now()
  const again = await start('api-process.ts', { BENCH_PORT: String(holder.port) })
  await clients.ask({ reopen: { port: again.port } })
  const backSeconds = (performance.now() - down) / 1000
  await write(ids, 1)
  await pause(2000)
  const after = await clients.ask<Seen>({ read: true })

  const lost = written - after.total
  console.log(
    `${written} events written: ${lost} lost; ${live.gaps + after.gaps} gaps, ${live.doubled + after.doubled} doubled`,
  )
  if (lost !== 0 || live.gaps + after.gaps + live.doubled + after.doubled > 0) process.exitCode = 1
  checkBar(`memory of ${threads} subscribed threads, times bare`, ours / bare, 'at most', required.memory)
  checkBar('event to reader, p99 in ms', quantile(live.latencies, 0.99), 'at most', required.latencyMs)
  checkBar('all back after a restart, in seconds', backSeconds, 'at most', required.backSeconds)
  if (beats > 0) {
    const apart = Math.max(...firstBeatsMs.map((ms) => Math.abs(ms / 1000 - required.beatSeconds)))
    console.log(`${firstBeatsMs.length} of ${threads} hearts have beaten`)
    if (firstBeatsMs.length < threads) process.exitCode = 1
    checkBar('heartbeats, seconds from 25 at most', apart, 'at most', required.beatSpread)
  }
} finally {
  for (const { child } of programs) child.kill()
  await closeDeps(deps)
  await parts.stop()
}
