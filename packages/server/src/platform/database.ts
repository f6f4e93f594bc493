import { Kysely, PostgresDialect, sql, type Transaction } from 'kysely'
import pg from 'pg'
import { type Changed, changesOf } from './changes.ts'
import { isDatabaseAway, stateOf } from './database-errors.ts'
import type { Logger } from './logger.ts'
import { retry } from './retry.ts'
import type { Tables } from './tables.ts'

/** What a store works on: the pool, or a transaction under way. */
export type Db = Kysely<Tables>
export type Tx = Transaction<Tables>

/** A statement of the hot path: prepared once per connection and run without a query builder in between. */
export interface HotStatement {
  readonly name: string
  readonly text: string
}

const probeEveryMs = 200
/**
 * How long a probe may take, in turns of this process's own loop: about a second when it is free, and longer as it is
 * slower itself. A starved or frozen process learns nothing about the server from its own lateness.
 */
const probeTurns = 12
const turnMs = 100
/** Lets go of the socket of a probe that was given up before it was connected. */
const probeConnectMs = 5000
/** More than a probe that is late because the machine is busy. */
const breakMs = 2000
/** For a connection, be it a new one or one that others still use. Away, nobody waits: see `#connect`. */
const connectTimeoutMs = 10_000
/** Ends a statement that hangs although the server answers probes; kept by the server, so no timer here. */
const statementTimeoutMs = 15_000
/**
 * Ends the transaction of a process that stands still in the middle of it, and lets go of what it holds: sooner than those
 * who wait for that are given up.
 */
const idleInTransactionMs = 10_000
const retryableStates = new Set(['40001', '40P01'])

/**
 * PostgreSQL with an honest idea of whether it is there. A probe on its own connection finds out within about
 * a second that the server is gone or hangs; then `available` turns false, so that requests are refused at
 * once, and statements under way are cut, so that nobody waits for an answer that will not come.
 */
export class Database {
  readonly db: Db
  readonly #pool: pg.Pool
  readonly #inUse = new Set<pg.PoolClient>()
  readonly #waiting = new Set<(away: Error) => void>()
  readonly #logger: Logger
  readonly #url: string
  #onChanged: ((changed: Changed) => void) | undefined
  #available = true
  #answeredAt = performance.now()
  /** When a statement of anybody's was last over. */
  #heardAt = 0
  #steadySince = performance.now()
  #closing = false
  #probing = false
  #probe: pg.Client | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: { url: string; poolSize: number; logger: Logger }) {
    this.#url = options.url
    this.#logger = options.logger
    this.#pool = new pg.Pool({
      connectionString: options.url,
      max: options.poolSize,
      // Closing idle connections would make every quiet spell end in a burst of reconnects.
      idleTimeoutMillis: 0,
      connectionTimeoutMillis: connectTimeoutMs,
      types: { getTypeParser },
      options: `-c timezone=UTC -c statement_timeout=${statementTimeoutMs} -c idle_in_transaction_session_timeout=${idleInTransactionMs}`,
    })
    // An idle client that loses its server must not end the process.
    this.#pool.on('error', () => {})
    // The pool listens only while a client is idle, so one in use needs a listener of its own.
    this.#pool.on('connect', (client) => client.on('error', () => {}))
    this.#pool.on('acquire', (client) => this.#inUse.add(client))
    this.#pool.on('release', (error, client) => {
      this.#inUse.delete(client)
      if (!error) this.#heardAt = performance.now()
    })
    const { options: poolOptions } = this.#pool
    const pool = { options: poolOptions, connect: () => this.#connect(), end: () => this.#pool.end() }
    this.db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
    this.#schedule(0)
  }

  get available(): boolean {
    return this.#available
  }

  /**
   * For how long the server has answered this process without a break. Zero after an outage, and when this process stood
   * still: what others did meanwhile, it has not seen.
   */
  get steadyMs(): number {
    const now = performance.now()
    return now - this.#answeredAt > breakMs ? 0 : now - this.#steadySince
  }

  hot<Row extends object>({ name, text }: HotStatement, values: unknown[]): Promise<Row[]> {
    return this.#run<Row>({ name, text, values })
  }

  /** The same with rows as the lists of their values, for very many: a driver's row with names takes thrice as long. */
  hotTuples<Tuple extends unknown[]>({ name, text }: HotStatement, values: unknown[]): Promise<Tuple[]> {
    return this.#run<Tuple>({ name, text, values, rowMode: 'array' })
  }

  async #run<Row>(query: pg.QueryConfig & { rowMode?: 'array' }): Promise<Row[]> {
    const client = await this.#connect()
    let broken: Error | undefined
    try {
      const result = await client.query(query)
      return result.rows as Row[]
    } catch (error) {
      broken = isDatabaseAway(error) ? (error as Error) : undefined
      throw error
    } finally {
      client.release(broken)
    }
  }

  /** Many may wait for their turn while the server answers; once it is away all of them are told at once. */
  #connect(): Promise<pg.PoolClient> {
    return new Promise((resolve, reject) => {
      const giveUp = (away: Error) => reject(away)
      this.#waiting.add(giveUp)
      this.#pool
        .connect()
        .then((client) => {
          // Nobody waits for it any more.
          if (!this.#waiting.has(giveUp)) return client.release()
          resolve(client)
        }, reject)
        .finally(() => this.#waiting.delete(giveUp))
    })
  }

  /** Calls back, after each transaction, with what was noted in it. */
  onChanged(heard: (changed: Changed) => void): void {
    this.#onChanged = heard
  }

  /**
   * Runs the work again when PostgreSQL gave it up for a deadlock or a serialization failure. With `lockWithinMs` it
   * fails, as `isPassing` tells, when a lock is not to be had in that time.
   */
  async transaction<T>(
    work: (tx: Tx) => Promise<T>,
    { lockWithinMs }: { lockWithinMs?: number } = {},
  ): Promise<T> {
    let changes: Iterable<Changed> = []
    const bounded = async (tx: Tx) => {
      if (lockWithinMs !== undefined)
        await sql`select set_config('lock_timeout', ${String(lockWithinMs)}, true)`.execute(tx)
      const result = await work(tx)
      changes = changesOf(tx)
      return result
    }
    const result = await retry(
      () => this.db.transaction().execute(bounded),
      (error, failures) => (failures === 4 || !retryableStates.has(stateOf(error)) ? undefined : 0),
    )
    for (const changed of changes) this.#onChanged?.(changed)
    return result
  }

  async close(): Promise<void> {
    this.#closing = true
    clearTimeout(this.#timer)
    await Promise.allSettled([this.#probe?.end(), this.db.destroy()])
  }

  #schedule(delayMs: number): void {
    if (this.#closing) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#runProbe(), delayMs)
    this.#timer.unref()
  }

  async #runProbe(): Promise<void> {
    if (this.#probing) return
    this.#probing = true
    const started = performance.now()
    try {
      await this.#answerInTime()
      if (!this.#available) this.#logger.info('PostgreSQL is back')
      this.#available = true
      if (performance.now() - this.#answeredAt > breakMs) this.#steadySince = performance.now()
      this.#answeredAt = performance.now()
    } catch (error) {
      if (this.#closing) return
      void this.#probe?.end().catch(() => {})
      this.#probe = undefined
      // It is not away when it answered others meanwhile: on a busy machine one answer may be late.
      if (this.#heardAt > started) return this.#schedule(0)
      if (this.#available) {
        this.#logger.error({ err: error }, 'PostgreSQL is away: requests are answered 503 until it is back')
        this.#available = false
      }
      for (const client of this.#inUse) void client.end().catch(() => {})
      for (const giveUp of this.#waiting) giveUp(new Error('Connection terminated: PostgreSQL is away'))
      this.#waiting.clear()
    } finally {
      this.#probing = false
    }
    this.#schedule(probeEveryMs)
  }

  #answerInTime(): Promise<void> {
    return new Promise((resolve, reject) => {
      let turns = 0
      const giveUpInTime = () => {
        if (++turns === probeTurns) reject(new Error('PostgreSQL does not answer a probe'))
      }
      const clock = setInterval(giveUpInTime, turnMs)
      void this.#ask()
        .then(resolve, reject)
        .finally(() => clearInterval(clock))
    })
  }

  async #ask(): Promise<void> {
    const probe = this.#probe ?? (await this.#openProbe())
    await probe.query('select 1')
  }

  async #openProbe(): Promise<pg.Client> {
    const probe = new pg.Client({ connectionString: this.#url, connectionTimeoutMillis: probeConnectMs })
    probe.on('error', () => {})
    // A server that dies closes its connections: found out at once rather than at the next beat.
    probe.once('end', () => this.#probe === probe && this.#schedule(0))
    this.#probe = probe
    await probe.connect()
    return probe
  }
}

const timestamptz = 1184
const int8 = 20

function getTypeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === timestamptz) return toIsoTime
  if (oid === int8) return Number
  return pg.types.getTypeParser(oid as never, format as never)
}

const wholeSecond = '2026-11-15 02:35:08+00'.length
/** What is missing, by how much longer than that a time is. */
const zeros = ['.000', undefined, '00', '0', '']

/**
 * The server speaks UTC, `2026-11-15 02:35:08.109+00`, and leaves trailing zeros of the fraction out. By hand: most reads
 * answer some times, and a `Date` costs more than all else that is done with a row.
 */
export function toIsoTime(text: string): string {
  const missing = zeros[text.length - wholeSecond]
  if (missing === undefined || !text.endsWith('+00')) return new Date(text).toISOString()
  return `${text.slice(0, 10)}T${text.slice(11, -3)}${missing}Z`
}
