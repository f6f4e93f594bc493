import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import pg from 'pg'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { freeze, pidsOf } from '../support/processes.ts'
import { readMoney } from './execution-evidence.ts'
import { type Frame, judge, type LoggedEvent, type RunSeen, type ThreadHistory } from './thread-history.ts'

/**
 * Many send to few threads, each message under a key of its own and repeated at random, while processes are killed and
 * frozen. In the end every acknowledged message was answered by exactly one run, and whoever listened has the whole log.
 */
export interface ThreadChaosOptions {
  readonly senders: number
  readonly messagesEach: number
  /** Over which each sender spreads its messages. */
  readonly seconds: number
  readonly threads: number
  readonly apis: number
  readonly workers: number
  readonly killWorkerEveryMs: number
  readonly killApiEveryMs: number
  /** How often each; a machine on which a process needs longer to start than it lives would never be done. */
  readonly mostKills?: number
  /** Parts that are killed once each, in this order, some seconds apart. */
  readonly once: readonly ('redis' | 'restate' | 'postgres')[]
  /** How long a worker stands still, and how often. */
  readonly freezeMs: number
  readonly freezes: number
  /** Of how many messages the run is interrupted, at any moment. */
  readonly interrupts: number
  /** A mistake that is put into the processes' code: the judge must find it. */
  readonly planted?: 'check-then-start' | 'no-fence'
  /** One with as many processes, used instead of one that is started for it. */
  readonly stack?: Stack
}

type Stack = Omit<SpawnedStack, 'said' | 'stop'>

const restedMs = 120_000

export async function runThreadChaos(options: ThreadChaosOptions) {
  if (options.stack) return disturbThreads(options.stack, options)
  const stack = await spawnStack([
    ...['--api', String(options.apis), '--workers', String(options.workers), '--limits', 'off'],
    ...(options.planted === undefined ? [] : plantedSettings(options.planted)),
  ])
  try {
    return await disturbThreads(stack, options)
  } finally {
    await stack.stop()
  }
}

async function disturbThreads(stack: Stack, options: ThreadChaosOptions) {
  const pool = new pg.Pool({ connectionString: stack.databaseUrl, max: 2 })
  pool.on('error', () => {})
  try {
    const app = createCaller(stack.baseUrl)
    const person = await app.newPerson()
    if (options.planted === 'check-then-start') await pool.query('drop index thread_runs_one_active')
    const threads = Array.from({ length: options.threads }, (_, index) => `thread-${index}`)
    const keys = await Promise.all(Array.from({ length: options.senders }, () => app.newKey(person)))
    const readers = threads.map((threadId) => new Subscriber(stack.baseUrl, person, threadId))
    const state: State = { isOver: false, kills: 0, repeats: 0, interrupted: new Set() }
    const faults = disturb(stack, pool, options, state)
    const begun = performance.now()
    const accepted = (
      await Promise.all(
        keys.map(({ secret }, index) =>
          sendAll(app, person, secret, threads[index % threads.length] ?? '', options, state),
        ),
      )
    ).flat()
    const sentMs = performance.now() - begun
    // A worker that is killed as soon as it is there would never let them end.
    state.isOver = true
    await faults
    const isRested = await rested(pool, person)
    const history = await collect(stack, pool, person, threads, accepted, readers, state.interrupted)
    const violations = [...(isRested ? [] : ['runs are still open']), ...judge(history)]
    const figures = {
      messages: accepted.length,
      runs: history.runs.length,
      events: [...history.logs.values()].reduce((sum, log) => sum + log.length, 0),
      kills: state.kills,
      repeats: state.repeats,
      interrupted: history.runs.filter(({ status }) => status === 'failed').length,
      reconnects: readers.reduce((sum, { openings }) => sum + openings - 1, 0),
      sentSeconds: Math.round(sentMs / 1000),
    }
    return { violations, figures }
  } finally {
    await pool.end().catch(() => {})
  }
}

interface State {
  isOver: boolean
  kills: number
  repeats: number
  readonly interrupted: Set<string>
}

function plantedSettings(planted: string): string[] {
  const hook = pathToFileURL(fileURLToPath(new URL('planted-mistakes.ts', import.meta.url))).href
  return ['--env', `NODE_OPTIONS=--import=${hook}`, '--env', `PLANTED=${planted}`]
}

async function sendAll(
  app: Caller,
  person: Person,
  key: string,
  threadId: string,
  { messagesEach, seconds, interrupts }: ThreadChaosOptions,
  state: State,
) {
  const accepted: { messageId: string; runId: string; threadId: string }[] = []
  for (let index = 0; index < messagesEach; index++) {
    const steps = [
      { say: `Answer ${index}. `, repeatText: 10, delayMs: Math.floor(Math.random() * 300), chunkDelayMs: 5 },
    ]
    const message = `Question ${index}.\n\`\`\`script\n${JSON.stringify({ steps })}\n\`\`\``
    const ifActive = Math.random() < 0.4 ? 'queue' : 'deliver'
    const body = { resourceId: person.workspaceId, threadId, message, ifActive }
    const headers = { 'idempotency-key': randomUUID() }
    const send = () =>
      app.call('POST', '/api/v1/agents/assistant/send-message', { key, body, headers }).catch(() => undefined)
    for (let repeat = Math.random() < 0.2; ; ) {
      const answer = await send()
      if (answer?.status === 202) {
        const { messageId, runId } = answer.body
        const known = accepted.find((one) => one.messageId === messageId)
        if (!known) accepted.push({ messageId, runId, threadId })
        if (!repeat) break
        state.repeats++
        repeat = false
      } else if (answer && answer.status !== 503 && answer.status !== 429 && answer.status !== 500) {
        throw new Error(`a message was answered ${answer.status} ${answer.text}`)
      }
      await delay(50 + Math.random() * 100)
    }
    const runId = accepted.at(-1)?.runId
    if (runId !== undefined && Math.random() < interrupts) {
      await delay(Math.random() * 600)
      state.interrupted.add(runId)
      const path = `/api/v1/threads/${threadId}/interrupt`
      await app.call('POST', path, { key, body: { runId } }).catch(() => undefined)
    }
    await delay((Math.random() * 2 * seconds * 1000) / messagesEach)
  }
  return accepted
}

/** Follows a thread from its beginning, coming back after every cut with the last number it has. */
class Subscriber {
  readonly threadId: string
  readonly frames: Frame[] = []
  openings = 0
  readonly #cut = new AbortController()
  readonly #reading: Promise<void>

  constructor(baseUrl: string, person: Person, threadId: string) {
    this.threadId = threadId
    this.#reading = this.#follow(baseUrl, person)
  }

  /** When it has as many as there are, or after a while. */
  async stop(wanted: number): Promise<void> {
    for (let waited = 0; this.frames.length < wanted && waited < 15_000; waited += 50) await delay(50)
    this.#cut.abort()
    await this.#reading
  }

  async #follow(baseUrl: string, person: Person): Promise<void> {
    while (!this.#cut.signal.aborted) {
      this.openings++
      const lastSeq = Number(this.frames.at(-1)?.id ?? 0)
      const body = { resourceId: person.workspaceId, threadId: this.threadId, lastSeq }
      await readFrames(baseUrl, person, body, this.#cut.signal, (frame) => this.frames.push(frame)).catch(
        () => {},
      )
      if (!this.#cut.signal.aborted) await delay(100)
    }
  }
}

async function readFrames(
  baseUrl: string,
  person: Person,
  body: object,
  signal: AbortSignal,
  take: (frame: Frame) => void,
): Promise<void> {
  const response = await fetch(`${baseUrl}/api/v1/agents/assistant/subscribe-thread`, {
    method: 'POST',
    headers: { 'x-auth-token': person.token, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  })
  if (!response.ok || !response.body) throw new Error(`answered ${response.status}`)
  let text = ''
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const frame = /^id: (\d+)\ndata: (.*)$/.exec(block)
      if (frame?.[1] && frame[2] && !frame[2].includes('"type":"thread.ready"'))
        take({ id: frame[1], data: frame[2] })
    }
  }
}

async function disturb(
  stack: Stack,
  pool: pg.Pool,
  options: ThreadChaosOptions,
  state: State,
): Promise<void> {
  let frozen: number | undefined
  const kill = (pid: number | undefined) => {
    if (pid === undefined) return
    process.kill(pid, 'SIGKILL')
    state.kills++
  }
  const every = async (ms: number, act: (turn: number) => unknown) => {
    if (ms === 0) return
    for (let turn = 0; !state.isOver && turn < (options.mostKills ?? Number.POSITIVE_INFINITY); turn++) {
      await delay(ms, undefined, { ref: false })
      if (!state.isOver) act(turn)
    }
  }
  const onceEach = async () => {
    for (const part of options.once) {
      await delay(4000)
      if (state.isOver) return
      kill(pidsOf(stack.dir)[part])
    }
    for (let turn = 0; turn < options.freezes; turn++) {
      await delay(2000)
      frozen = await findBusy(pool, pidsOf(stack.dir).worker)
      if (frozen === undefined || state.isOver) return
      const thaw = freeze(frozen)
      await delay(options.freezeMs)
      thaw()
    }
  }
  const victimOf = (part: 'worker' | 'api', turn: number) => {
    // The frozen one is left to stand.
    const pids = pidsOf(stack.dir)[part].filter((pid) => pid !== frozen)
    return pids[turn % pids.length]
  }
  await Promise.all([
    every(options.killWorkerEveryMs, (turn) => kill(victimOf('worker', turn))),
    every(options.killApiEveryMs, (turn) => kill(victimOf('api', turn))),
    onceEach(),
  ])
}

/** A worker that has a run at this moment: its name ends with its process and a word of its own. */
async function findBusy(pool: pg.Pool, pids: readonly number[]): Promise<number | undefined> {
  for (let tried = 0; tried < 200; tried++) {
    const found = await pool
      .query<{ worker: string }>(`select worker_id as worker from thread_runs where status = 'working'`)
      .catch(() => undefined)
    const busy = (found?.rows ?? []).map(({ worker }) => Number(worker?.split('/')[1]))
    const pid = pids.find((one) => busy.includes(one))
    if (pid !== undefined) return pid
    await delay(20)
  }
  return pids[0]
}

/** Whether all runs have ended, in time. */
async function rested(pool: pg.Pool, person: Person): Promise<boolean> {
  const end = performance.now() + restedMs
  while (performance.now() < end) {
    const open = await pool
      .query(
        `select from thread_runs where workspace_id = $1 and status in ('queued', 'working', 'waiting')`,
        [person.workspaceId],
      )
      .catch(() => undefined)
    if (open?.rowCount === 0) return true
    await delay(200)
  }
  return false
}

async function collect(
  stack: Stack,
  pool: pg.Pool,
  person: Person,
  threads: readonly string[],
  accepted: ThreadHistory['accepted'],
  readers: readonly Subscriber[],
  interrupted: ReadonlySet<string>,
): Promise<ThreadHistory> {
  const events = await pool.query<LoggedEvent & { threadId: string; payload: string }>(
    `select t.thread_id as "threadId", e.sequence, e.type, e.run_id as "runId", e.payload
     from thread_events e join threads t on t.id = e.thread_row_id
     where t.workspace_id = $1 order by t.id, e.sequence`,
    [person.workspaceId],
  )
  const read = events.rows.map((row) => ({ ...row, payload: JSON.parse(row.payload) }))
  const logs = new Map(threads.map((id) => [id, read.filter(({ threadId }) => threadId === id)]))
  const runs = await pool.query<RunSeen>(
    `select r.run_id as "runId", t.thread_id as "threadId", r.status, r.steps, r.last_message as "lastMessage",
       r.delivered_through as "deliveredThrough", r.cost_milli_ds::int as "costMilliDs"
     from thread_runs r join threads t on t.id = r.thread_row_id where r.workspace_id = $1`,
    [person.workspaceId],
  )
  const money = await readMoney(pool, person.userId)
  const replays = new Map<string, Frame[]>()
  for (const threadId of threads) {
    const whole = new Subscriber(stack.baseUrl, person, threadId)
    await whole.stop(logs.get(threadId)?.length ?? 0)
    replays.set(threadId, whole.frames)
  }
  for (const reader of readers) await reader.stop(logs.get(reader.threadId)?.length ?? 0)
  return {
    accepted,
    sent: accepted.length,
    logs,
    runs: runs.rows,
    readings: readers.map(({ threadId, frames }) => ({ threadId, frames })),
    replays,
    interrupted,
    money,
  }
}
