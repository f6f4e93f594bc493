import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { type CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { changeCredits, openAccount, reserve, settle } from '#accounts/billing/billing.ts'
import { listEntries } from '#accounts/billing/store.ts'
import { Database } from '#platform/database.ts'
import { createLogger } from '#platform/logger.ts'
import type { Tables } from '#platform/tables.ts'
import { createDatabase } from '../support/house.ts'

const workspaceId = randomUUID()
let databaseUrl: string
let databases: Database[]
let client: pg.Client

const poolSize = 10

/** Several pools stand for several processes. */
beforeAll(async () => {
  databaseUrl = await createDatabase()
  const logger = createLogger('error')
  databases = Array.from({ length: 4 }, () => new Database({ url: databaseUrl, poolSize, logger }))
  // Connected beforehand, so that the races are between starts and not between connections.
  for (const { db } of databases)
    await Promise.all(Array.from({ length: poolSize }, () => sql`select pg_sleep(0.1)`.execute(db)))
  client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query("insert into workspaces (id, kind) values ($1, 'personal')", [workspaceId])
})

afterAll(async () => {
  await client.end()
  await Promise.all(databases.map((database) => database.close()))
})

function databaseFor(index: number): Database {
  const database = databases[index % databases.length]
  if (!database) throw new Error('no database')
  return database
}

async function newUser(balanceMilliDs: number): Promise<string> {
  const { rows } = await client.query("insert into users (mode) values ('paygmode') returning id")
  const userId: string = rows[0].id
  await databaseFor(0).transaction((tx) =>
    openAccount(tx, { startingCreditsMilliDs: balanceMilliDs }, userId),
  )
  return userId
}

async function newKey(userId: string, limitMilliDs: number | null): Promise<number> {
  const { rows } = await client.query(
    `insert into api_keys (workspace_id, user_id, label, created_via, spend_limit_milli_ds)
     values ($1, $2, 'test', 'manual', $3) returning id::int`,
    [workspaceId, userId, limitMilliDs],
  )
  return rows[0].id
}

const accountOf = async (userId: string) => {
  const { rows } = await client.query(
    `select available_milli_ds::int as available, reserved_milli_ds::int as reserved, spent_milli_ds::int as spent
     from credit_accounts where user_id = $1`,
    [userId],
  )
  return rows[0]
}

/** Whatever does not add up, over the whole database; nothing when all is well. */
async function findFaults(): Promise<unknown[]> {
  const { rows } = await client.query(`
    with lines as (
      select user_id, key_id, source as place, -amount_milli_ds as amount from ledger
      union all select user_id, key_id, target, amount_milli_ds from ledger
    ), faults as (
      select 'sum' as fault, sum(amount)::text as about from lines having sum(amount) <> 0
      union all select 'negative', user_id::text from credit_accounts
        where least(available_milli_ds, reserved_milli_ds, spent_milli_ds) < 0
      union all select 'drift', a.user_id::text from credit_accounts a
        left join lines l on l.user_id = a.user_id
        group by a.user_id having
          a.available_milli_ds <> coalesce(sum(amount) filter (where place = 'available'), 0)
          or a.reserved_milli_ds <> coalesce(sum(amount) filter (where place = 'reserved'), 0)
          or a.spent_milli_ds <> coalesce(sum(amount) filter (where place = 'spent'), 0)
      union all select 'key drift', k.id::text from api_keys k
        left join lines l on l.key_id = k.id
        group by k.id having
          k.reserved_milli_ds <> coalesce(sum(amount) filter (where place = 'reserved'), 0)
          or k.spent_milli_ds <> coalesce(sum(amount) filter (where place = 'spent'), 0)
      union all select 'open reservations', a.user_id::text from credit_accounts a
        left join reservations r on r.user_id = a.user_id and r.closed_at is null
        group by a.user_id having a.reserved_milli_ds <> coalesce(sum(r.amount_milli_ds), 0)
    ) select * from faults`)
  return rows
}

function start(
  userId: string,
  executionId: string,
  input: { keyId?: number; maxCost?: number; via?: number },
) {
  return databaseFor(input.via ?? 0).transaction((tx) =>
    reserve(tx, {
      userId,
      workspaceId,
      executionId,
      kind: 'execution',
      keyId: input.keyId ?? null,
      maxCostMilliDs: input.maxCost ?? null,
      defaultMaxCostMilliDs: 500_000,
    }),
  )
}

describe('200 starts, forty at a time over four processes', () => {
  /** Each lane has a connection to itself: who waits, waits for the account. */
  async function startMany(userId: string, input: { keyId?: number; maxCost?: number }) {
    const lanes = Array.from({ length: databases.length * poolSize }, async (_, via) => {
      const answers = []
      for (let turn = 0; turn < 5; turn++) answers.push(await start(userId, randomUUID(), { ...input, via }))
      return answers
    })
    return (await Promise.all(lanes)).flat()
  }

  test('with credits for one: one starts', { timeout: 60_000 }, async () => {
    for (let round = 0; round < 5; round++) {
      const userId = await newUser(50_000)
      const answers = await startMany(userId, {})
      expect(answers).toHaveLength(200)
      expect(answers.filter(({ ok }) => ok)).toHaveLength(1)
      for (const answer of answers)
        if (!answer.ok) expect(answer).toMatchObject({ reason: 'credits', balance: 50, availableBalance: 0 })
      expect(await accountOf(userId)).toEqual({ available: 0, reserved: 50_000, spent: 0 })
    }
    expect(await findFaults()).toEqual([])
  })

  test('of a key with a limit for three: three start', { timeout: 60_000 }, async () => {
    const userId = await newUser(100_000_000)
    const keyId = await newKey(userId, 30_000)
    const answers = await startMany(userId, { keyId, maxCost: 10_000 })
    expect(answers.filter(({ ok }) => ok)).toHaveLength(3)
    expect(await accountOf(userId)).toMatchObject({ reserved: 30_000 })
    expect(await findFaults()).toEqual([])
  })
})

type Step =
  | { does: 'start'; execution: number; withKey: boolean; maxCost: number }
  | { does: 'end'; execution: number; used: number }
  | { does: 'grant' | 'refund' | 'adjust'; amount: number }

const amount = fc.integer({ min: 1, max: 120_000 })
const execution = fc.nat(7)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ does: fc.constant('start' as const), execution, withKey: fc.boolean(), maxCost: amount }),
  fc.record({ does: fc.constant('end' as const), execution, used: fc.integer({ min: 0, max: 120_000 }) }),
  fc.record({ does: fc.constantFrom('grant' as const, 'refund' as const), amount }),
  fc.record({ does: fc.constant('adjust' as const), amount: fc.integer({ min: -120_000, max: 50_000 }) }),
)

interface World {
  userId: string
  keyId: number
  executions: string[]
}

const keyLimit = 200_000

async function newWorld(): Promise<World> {
  const userId = await newUser(100_000)
  return {
    userId,
    keyId: await newKey(userId, keyLimit),
    executions: Array.from({ length: 8 }, () => randomUUID()),
  }
}

async function take(world: World, each: Step, via: number): Promise<unknown> {
  if (each.does === 'start') {
    const { maxCost } = each
    const input = { maxCost, via, ...(each.withKey ? { keyId: world.keyId } : {}) }
    return start(world.userId, world.executions[each.execution] ?? '', input)
  }
  return databaseFor(via).transaction<unknown>((tx) =>
    each.does === 'end'
      ? settle(tx, world.executions[each.execution] ?? '', each.used)
      : changeCredits(tx, { userId: world.userId, kind: each.does, amountMilliDs: each.amount, note: null }),
  )
}

/** What the account should be, told without a database. */
class Model {
  available = 100_000
  spent = 0
  readonly open = new Map<number, { amount: number; withKey: boolean }>()
  readonly charged = new Map<number, number>()
  keySpent = 0

  reserved(ofKey = false): number {
    return [...this.open.values()].reduce(
      (sum, { amount, withKey }) => sum + (withKey || !ofKey ? amount : 0),
      0,
    )
  }

  /** What the real thing should answer, reduced to what can be compared. */
  take(each: Step): unknown {
    if (each.does === 'start') return this.#start(each)
    if (each.does === 'end') return this.#end(each)
    const isCovered = each.does === 'refund' ? each.amount <= this.spent : this.available + each.amount >= 0
    if (!isCovered) return undefined
    this.available += each.amount
    if (each.does === 'refund') this.spent -= each.amount
    return (this.available + this.reserved()) / 1000
  }

  #start({ execution, withKey, maxCost }: Step & { does: 'start' }): unknown {
    if (this.charged.has(execution)) return 'settled'
    const known = this.open.get(execution)
    if (known) return known.amount
    if (this.available < 50_000) return 'credits'
    const left = withKey ? keyLimit - this.keySpent - this.reserved(true) : Number.POSITIVE_INFINITY
    if (left <= 0) return 'key_limit'
    const amount = Math.min(maxCost, this.available, left)
    this.available -= amount
    this.open.set(execution, { amount, withKey })
    return amount
  }

  #end({ execution, used }: Step & { does: 'end' }): unknown {
    const reservation = this.open.get(execution)
    if (!reservation) return this.charged.get(execution) ?? 0
    const charged = Math.min(used, reservation.amount)
    this.open.delete(execution)
    this.charged.set(execution, charged)
    this.available += reservation.amount - charged
    this.spent += charged
    if (reservation.withKey) this.keySpent += charged
    return charged
  }
}

/** The answer of the real thing in the model's words. */
async function heard(answer: Promise<unknown>): Promise<unknown> {
  const value = await answer.catch((error: Error) => {
    if (error.message.includes('has been settled')) return 'settled'
    throw error
  })
  if (typeof value !== 'object' || value === null) return value
  const { ok, reason, reservation, balance } = value as Record<string, unknown>
  if (ok === false) return reason
  return ok ? (reservation as { amountMilliDs: number }).amountMilliDs : balance
}

describe('random histories', () => {
  const seed = 20261115

  test('one step after the other, the account is what the model says', { timeout: 120_000 }, async () => {
    let steps = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (history) => {
        const [world, model] = [await newWorld(), new Model()]
        for (const each of history) {
          const expected = model.take(each)
          expect(await heard(take(world, each, steps++))).toBe(expected)
        }
        const { available, spent } = model
        expect(await accountOf(world.userId)).toEqual({ available, reserved: model.reserved(), spent })
      }),
      { numRuns: 150, seed, endOnFailure: true },
    )
    expect(steps).toBeGreaterThan(1500)
    expect(await findFaults()).toEqual([])
  })

  test('all at once, everything still adds up', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (history) => {
        const world = await newWorld()
        await Promise.all(history.map((each, via) => heard(take(world, each, via))))
        const { rows } = await client.query('select reserved_milli_ds + spent_milli_ds as used from api_keys')
        for (const { used } of rows) expect(Number(used)).toBeLessThanOrEqual(keyLimit)
      }),
      { numRuns: 60, seed, endOnFailure: true },
    )
    expect(await findFaults()).toEqual([])
  })
})

describe('the database itself', () => {
  const refuses = (text: string, values: unknown[], message: string | RegExp) =>
    expect(client.query(text, values)).rejects.toThrow(message)

  test('keeps the ledger as it was written', async () => {
    const userId = await newUser(1000)
    const never = 'rows of ledger are never changed'
    await refuses('update ledger set amount_milli_ds = 1 where user_id = $1', [userId], never)
    await refuses('delete from ledger where user_id = $1', [userId], never)
    await refuses('truncate ledger cascade', [], never)
    expect(await accountOf(userId)).toEqual({ available: 1000, reserved: 0, spent: 0 })
  })

  test('moves credits by entries only', async () => {
    const userId = await newUser(1000)
    const only = 'credits move by entries of the ledger only'
    await refuses('update credit_accounts set available_milli_ds = 9 where user_id = $1', [userId], only)
    await refuses('delete from credit_accounts where user_id = $1', [userId], only)
    const { rows } = await client.query("insert into users (mode) values ('paygmode') returning id")
    const account = 'insert into credit_accounts (user_id, available_milli_ds) values ($1, 5)'
    await refuses(account, [rows[0].id], only)
  })

  test('takes no entry that overdraws, moves nothing, or goes where its kind does not', async () => {
    const userId = await newUser(1000)
    const entry = `insert into ledger (user_id, kind, source, target, amount_milli_ds) values ($1, $2, $3, $4, $5)`
    const check = /violates check constraint/
    await refuses(entry, [userId, 'reserve', 'available', 'reserved', 1001], check)
    await refuses(entry, [userId, 'settle', 'reserved', 'spent', 1], check)
    await refuses(entry, [userId, 'refund', 'spent', 'available', 1], check)
    await refuses(entry, [userId, 'adjust', 'available', 'issued', 1001], check)
    await refuses(entry, [userId, 'grant', 'issued', 'available', 0], check)
    await refuses(entry, [userId, 'grant', 'issued', 'available', -1], check)
    await refuses(entry, [userId, 'grant', 'issued', 'spent', 1], check)
    await refuses(entry, [randomUUID(), 'grant', 'issued', 'available', 1], /violates foreign key/)
    expect(await accountOf(userId)).toEqual({ available: 1000, reserved: 0, spent: 0 })
  })

  test('would show a fault: balances changed behind its back are found', async () => {
    const userId = await newUser(1000)
    await client.query('begin')
    await client.query("set local session_replication_role = 'replica'")
    await client.query(
      'update credit_accounts set available_milli_ds = 999, reserved_milli_ds = 1 where user_id = $1',
      [userId],
    )
    expect(await findFaults()).toEqual([
      { fault: 'drift', about: userId },
      { fault: 'open reservations', about: userId },
    ])
    await client.query('rollback')
    expect(await findFaults()).toEqual([])
  })

  test('reads a page of a long ledger from its index, wherever it begins', async () => {
    const [userId, other] = [await newUser(1), await newUser(1)]
    const many = `insert into ledger (user_id, kind, source, target, amount_milli_ds)
      select $1, 'grant', 'issued', 'available', 1 from generate_series(1, 5000)`
    for (const each of [userId, other]) await client.query(many, [each])
    await client.query('analyze ledger')
    const queries: CompiledQuery[] = []
    const db = new Kysely<Tables>({
      dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: databaseUrl, max: 1 }) }),
      log: ({ query }) => void queries.push(query),
    })
    const first = await listEntries(db, userId, { limit: 51, before: undefined })
    await listEntries(db, userId, { limit: 51, before: Number(first[20]?.id) })
    await db.destroy()
    expect(queries).toHaveLength(2)
    for (const { sql: text, parameters } of queries) {
      const { rows } = await client.query(`explain (analyze, format json) ${text}`, [...parameters])
      const [limit] = rows[0]['QUERY PLAN'].map(({ Plan }: { Plan: object }) => Plan)
      expect(limit.Plans[0]).toMatchObject({
        'Node Type': 'Index Scan',
        'Index Name': 'ledger_pkey',
        'Index Cond': expect.stringContaining('user_id ='),
        'Actual Rows': 51,
      })
      expect(limit.Plans[0]).not.toHaveProperty('Filter')
    }
  })
})
