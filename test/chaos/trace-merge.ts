import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import pg from 'pg'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { type Answer, type Caller, createCaller, type Person } from '../support/caller.ts'
import { pidsOf } from '../support/processes.ts'

/**
 * Several logs grow, several agents append and several readers tail one trace, all at once and over HTTP, while API
 * processes are killed. In the end every reader has exactly the whole list, in rising order.
 */
export interface MergeOptions {
  readonly seconds: number
  readonly killEveryMs: number
  readonly producers?: number
  readonly appenders?: number
  readonly readers?: number
  /** One with two API processes, used instead of one that is started for it. */
  readonly stack?: Stack
}

type Stack = Omit<SpawnedStack, 'said' | 'stop'>

interface Turn {
  readonly seq: number
  readonly payload: { readonly content: readonly { readonly text: string }[] }
}

const random = (below: number) => Math.floor(Math.random() * below)
const payloadOf = (text: string) => ({ content: [{ type: 'text', text }] })
const textOf = ({ payload }: Turn) => payload.content[0]?.text ?? ''

export async function runTraceMerge(options: MergeOptions) {
  if (options.stack) return mergeAt(options.stack, options)
  const stack = await spawnStack(['--api', '2', '--workers', '1', '--limits', 'off'])
  try {
    return await mergeAt(stack, options)
  } finally {
    await stack.stop()
  }
}

async function mergeAt(stack: Stack, options: MergeOptions) {
  const { seconds, killEveryMs, producers = 3, appenders = 3, readers = 8 } = options
  const pool = new pg.Pool({ connectionString: stack.databaseUrl, max: producers + 1 })
  const redis = new Redis(stack.redisUrl)
  try {
    const app = createCaller(stack.baseUrl)
    const person = await app.newPerson()
    const { traceId, rowIds } = await insertTrace(pool, person, producers)
    const trace = new TraceClient(app, person, traceId)
    const until = Date.now() + seconds * 1000
    const violations: string[] = []
    const acked = new Map<number, string>()
    const state = { stopped: false, kills: 0, refusedLow: 0, conflicts: 0 }
    const tails = Array.from({ length: readers }, () => tail(trace, state, violations))
    const killer = killNowAndThen(stack, until, killEveryMs, state)
    const [made] = await Promise.all([
      Promise.all(rowIds.map((rowId, index) => produce(pool, redis, rowId, index, until))),
      Promise.all(
        Array.from({ length: appenders }, (_, index) =>
          append(trace, index, until, acked, state, violations),
        ),
      ),
    ])
    await killer
    state.stopped = true
    const seen = await Promise.all(tails)
    const all = await trace.readAll()
    violations.push(...check(all, made, acked, seen))
    const pieces = await pool.query('select count(*)::int as n from trace_pieces where trace_id = $1', [
      traceId,
    ])
    const { kills, refusedLow, conflicts } = state
    const figures = {
      produced: made.reduce((sum, count) => sum + count, 0),
      appended: acked.size,
      turns: all.length,
      pieces: pieces.rows[0].n as number,
      kills,
      repeatsRefused: conflicts,
      numbersPassedByAProducer: refusedLow,
      requestsRepeated: trace.repeated,
    }
    return { violations, figures }
  } finally {
    redis.disconnect()
    await pool.end()
  }
}

/** Rows alone: a trace, and executions in workspaces of their own that work on it and that nobody ends. */
async function insertTrace(pool: pg.Pool, person: Person, producers: number) {
  const traceId = `trace_${randomUUID()}`
  await pool.query(
    `insert into traces (id, workspace_id, kind, title, status, user_id, trace_key)
     values ($1, $2, 'execution', 'Merged', 'running', $3, $1)`,
    [traceId, person.workspaceId, person.userId],
  )
  await pool.query(`insert into bundles (checksum, files_count, size_bytes) values (repeat('0', 64), 1, 1)
    on conflict do nothing`)
  const { rows } = await pool.query<{ id: string }>(
    `with places as (insert into workspaces (kind) select 'team' from generate_series(1, $3) returning id),
     made as (insert into executions (execution_id, workspace_id, user_id, status, skill_id, skill_slug, skill_name,
       skill_version, bundle_checksum, source, interface, input_text, trace_id, attempt, worker_id, lease_until, started_at)
     select 'exec_' || gen_random_uuid(), id, $2, 'working', 1, 's', 'S', 1, repeat('0', 64), 'api', 'api', '', $1, 1,
       'nobody', now() + interval '1 day', now() from places returning id),
     joined as (insert into trace_producers (trace_id, kind, producer_row_id) select $1, 'execution', id from made)
     select id from made`,
    [traceId, person.userId, producers],
  )
  return { traceId, rowIds: rows.map(({ id }) => Number(id)) }
}

/** Writes to a log as a worker does, and says so. */
async function produce(
  pool: pg.Pool,
  redis: Redis,
  rowId: number,
  index: number,
  until: number,
): Promise<number> {
  let made = 0
  while (Date.now() < until) {
    const payloads = Array.from({ length: 1 + random(4) }, () =>
      JSON.stringify(payloadOf(`p${index}-${++made}`)),
    )
    await pool.query(
      `with bumped as (update executions set last_sequence = last_sequence + cardinality($2::text[]) where id = $1
         returning last_sequence - cardinality($2::text[]) as base)
       insert into execution_events (execution_id, sequence, type, payload)
       select $1, base + position, 'agent.message', text
       from bumped, unnest($2::text[]) with ordinality as given (text, position)`,
      [rowId, payloads],
    )
    await redis
      .publish(`execution:${rowId}`, `events ${made - payloads.length + 1} ${made}\n`)
      .catch(() => {})
    await delay(random(30))
  }
  return made
}

interface State {
  stopped: boolean
  kills: number
  refusedLow: number
  conflicts: number
}

async function append(
  trace: TraceClient,
  index: number,
  until: number,
  acked: Map<number, string>,
  state: State,
  violations: string[],
): Promise<void> {
  for (let made = 0; Date.now() < until; await delay(random(30))) {
    const texts = Array.from({ length: 1 + random(3) }, () => `a${index}-${++made}`)
    const [first = ''] = texts
    if (random(3) > 0) {
      const answer = await trace.append(texts.map((text) => ({ text })))
      if (answer.status !== 201)
        violations.push(`an append without numbers was ${answer.status}: ${answer.text}`)
      else
        for (const [at, text] of texts.entries()) acked.set(answer.body.lastSeq - texts.length + 1 + at, text)
      continue
    }
    // Sometimes so near that a producer comes first, sometimes far enough to be free.
    const seq = (await trace.lastSeq()) + 1 + random(random(2) === 0 ? 3 : 300)
    const answer = await trace.append([{ text: first, seq }])
    const { details } = answer.body.error ?? {}
    const landed = answer.status === 201 || details?.conflicts?.[0]?.same === true
    if (landed) {
      acked.set(seq, first)
      const again = await trace.append([{ text: first, seq }])
      state.conflicts++
      if (again.status !== 409 || again.body.error.details.conflicts[0]?.same !== true)
        violations.push(`a repeat of ${seq} was ${again.status}: ${again.text}`)
    } else if (answer.status === 400 && details?.reason === 'SEQ_NOT_ABOVE_LAST') state.refusedLow++
    else if (answer.status !== 409) violations.push(`${seq} was ${answer.status}: ${answer.text}`)
  }
}

async function tail(trace: TraceClient, state: State, violations: string[]): Promise<Turn[]> {
  const got: Turn[] = []
  for (;;) {
    const isLast = state.stopped
    const after = got.at(-1)?.seq ?? 0
    const page = await trace.read(after, 1 + random(60), isLast ? 0 : 1)
    for (const turn of page) {
      if (turn.seq <= (got.at(-1)?.seq ?? 0)) violations.push(`${turn.seq} came after ${got.at(-1)?.seq}`)
      got.push(turn)
    }
    if (isLast && page.length === 0) return got
  }
}

async function killNowAndThen(stack: Stack, until: number, everyMs: number, state: State): Promise<void> {
  while (Date.now() + everyMs < until) {
    await delay(everyMs)
    const { api } = pidsOf(stack.dir)
    const pid = api[state.kills % api.length]
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
    state.kills++
  }
}

function check(
  all: readonly Turn[],
  made: readonly number[],
  acked: ReadonlyMap<number, string>,
  seen: readonly (readonly Turn[])[],
): string[] {
  const violations: string[] = []
  const byText = new Map<string, number>()
  for (const turn of all) {
    if (byText.has(textOf(turn))) violations.push(`${textOf(turn)} is there twice`)
    byText.set(textOf(turn), turn.seq)
  }
  for (const [index, count] of made.entries()) {
    let last = 0
    for (let event = 1; event <= count; event++) {
      const seq = byText.get(`p${index}-${event}`)
      if (seq === undefined || seq <= last)
        violations.push(`p${index}-${event} has number ${seq} after ${last}`)
      last = seq ?? last
    }
  }
  for (const [seq, text] of acked)
    if (byText.get(text) !== seq) violations.push(`${text} was stored as ${seq} and is ${byText.get(text)}`)
  const turns = made.reduce((sum, count) => sum + count, acked.size)
  if (all.length !== turns) violations.push(`${turns} turns were made and ${all.length} are there`)
  for (const [reader, got] of seen.entries()) {
    if (got.length !== all.length) violations.push(`reader ${reader} has ${got.length} of ${all.length}`)
    const odd = got.findIndex(
      (turn, at) => turn.seq !== all[at]?.seq || textOf(turn) !== textOf(all[at] ?? turn),
    )
    if (odd !== -1) violations.push(`reader ${reader} differs at ${odd}`)
  }
  return violations
}

/** Asks again when nobody answers: an append is then repeated as it was, under the same key. */
class TraceClient {
  repeated = 0
  readonly #app: Caller
  readonly #token: string
  readonly #path: string

  constructor(app: Caller, { token }: Person, traceId: string) {
    this.#app = app
    this.#token = token
    this.#path = `/api/v1/traces/${traceId}`
  }

  append(turns: readonly { text: string; seq?: number }[]): Promise<Answer> {
    const events = turns.map(({ text, seq }) => ({
      type: 'agent.text',
      payload: payloadOf(text),
      ...(seq === undefined ? {} : { seq }),
    }))
    // With a number a repeat finds itself; without one it needs a name.
    const headers: Record<string, string> =
      turns[0]?.seq === undefined ? { 'idempotency-key': randomUUID() } : {}
    return this.#ask('POST', `${this.#path}/events`, { body: { events }, headers })
  }

  async lastSeq(): Promise<number> {
    return (await this.#ask('GET', `${this.#path}/events?afterSeq=9000000000000`)).body.lastSeq
  }

  async read(after: number, limit: number, wait: number): Promise<Turn[]> {
    const query = `afterSeq=${after}&limit=${limit}&wait=${wait}`
    return (await this.#ask('GET', `${this.#path}/events?${query}`)).body.items
  }

  async readAll(): Promise<Turn[]> {
    const all: Turn[] = []
    for (;;) {
      const page = await this.read(all.at(-1)?.seq ?? 0, 500, 0)
      if (page.length === 0) return all
      all.push(...page)
    }
  }

  async #ask(
    method: string,
    path: string,
    options: { body?: unknown; headers?: Record<string, string> } = {},
  ) {
    for (;;) {
      try {
        const answer = await this.#app.call(method, path, { token: this.#token, ...options })
        if (answer.status < 500) return answer
      } catch {
        // Its process was killed while it answered.
      }
      this.repeated++
      await delay(20 + random(80))
    }
  }
}
