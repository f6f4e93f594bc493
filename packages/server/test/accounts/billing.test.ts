import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { raiseSpendLimit } from '#access/keys/keys.ts'
import {
  changeCredits,
  findReservation,
  insufficientCredits,
  reserve,
  settle,
} from '#accounts/billing/billing.ts'
import { migrate } from '#platform/migrate.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

const server = join(import.meta.dirname, '../..')
let databaseUrl: string
let house: House
let client: pg.Client

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl, STARTING_CREDITS: '1000' })
  client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
})

afterAll(async () => {
  await client.end()
  await house.close()
})

interface Start {
  executionId?: string
  keyId?: number
  maxCost?: number
}

function start(person: Person, { executionId = randomUUID(), keyId, maxCost }: Start = {}) {
  return house.deps.database.transaction((tx) =>
    reserve(tx, {
      userId: person.userId,
      workspaceId: person.workspaceId,
      executionId,
      kind: 'execution',
      keyId: keyId ?? null,
      maxCostMilliDs: maxCost === undefined ? null : maxCost * 1000,
      defaultMaxCostMilliDs: house.deps.config.defaultMaxCostMilliDs,
    }),
  )
}

const end = (executionId: string, used: number) =>
  house.deps.database.transaction((tx) => settle(tx, executionId, used * 1000))

const billingOf = async ({ token }: Person) => (await house.call('GET', '/api/v1/billing', { token })).body

describe('an account', () => {
  test('holds the starting credits, granted once however many sign-ins make it', async () => {
    const email = `${randomUUID()}@example.test`
    const people = await Promise.all(Array.from({ length: 8 }, () => house.newPerson({ email })))
    const [person] = people
    if (!person) throw new Error('nobody')
    expect(new Set(people.map(({ userId }) => userId)).size).toBe(1)
    expect(await billingOf(person)).toEqual({
      mode: 'basedmode',
      unit: 'Ds',
      balance: 1000,
      availableBalance: 1000,
      reserved: 0,
      minimumRequired: 50,
      spend: { total: 0, key: null },
      limits: { maxCost: 500 },
    })
    const { body } = await house.call('GET', '/api/v1/billing/ledger', { token: person.token })
    expect(body).toEqual({
      items: [
        {
          id: expect.any(String),
          kind: 'grant',
          from: 'issued',
          to: 'available',
          amount: 1000,
          at: expect.any(String),
          workspaceId: null,
          executionId: null,
          apiKeyId: null,
          note: 'Starting credits',
        },
      ],
      nextCursor: null,
    })
  })

  test('is made by the migration for who was there before, without a grant', async () => {
    const admin = new pg.Client({ connectionString: inject('databaseUrl') })
    await admin.connect()
    const name = `before_ledger_${process.pid}`
    await admin.query(`create database ${name}`)
    await admin.end()
    const url = new URL(databaseUrl)
    url.pathname = `/${name}`
    const older = new pg.Client({ connectionString: url.href })
    await older.connect()
    try {
      await older.query(
        'create table migrations (name text primary key, applied_at timestamptz default now())',
      )
      for (const file of readdirSync(join(server, 'migrations')).sort()) {
        if (file >= '0006') continue
        await older.query(readFileSync(join(server, 'migrations', file), 'utf8'))
        await older.query('insert into migrations values ($1)', [file])
      }
      await older.query("insert into users (mode) values ('paygmode'), ('paygmode')")
      await migrate(url.href)
      const { rows } = await older.query('select available_milli_ds::int as available from credit_accounts')
      expect(rows).toEqual([{ available: 0 }, { available: 0 }])
    } finally {
      await older.end()
    }
  })

  test('that was never opened is an empty one, until the operator grants something', async () => {
    const { rows } = await client.query("insert into users (mode) values ('paygmode') returning id")
    const late = { userId: rows[0].id, workspaceId: randomUUID(), token: '', email: '' }
    expect(await start(late)).toMatchObject({ ok: false, reason: 'credits', balance: 0 })
    const grant = { userId: late.userId, kind: 'grant', amountMilliDs: 60_000, note: null } as const
    await house.deps.database.transaction((tx) => changeCredits(tx, grant))
    expect(await start(late)).toMatchObject({ ok: true, reservation: { amountMilliDs: 60_000 } })
  })
})

describe('a start', () => {
  test('sets aside at most the deployment’s maximum, its own, and what is available', async () => {
    const person = await house.newPerson()
    expect(await start(person, { maxCost: 900 })).toMatchObject({
      ok: true,
      reservation: { amountMilliDs: 500_000, limitedBy: 'max_cost' },
    })
    expect(await start(person, { maxCost: 1.5 })).toMatchObject({ reservation: { amountMilliDs: 1500 } })
    expect(await start(person)).toMatchObject({
      reservation: { amountMilliDs: 498_500, limitedBy: 'balance' },
    })
    expect(await billingOf(person)).toMatchObject({ balance: 1000, availableBalance: 0, reserved: 1000 })
  })

  test('below the minimum is refused with the three numbers, and changes nothing', async () => {
    const person = await house.newPerson()
    await start(person)
    await start(person, { maxCost: 450.001 })
    const before = await billingOf(person)
    const refusal = await start(person)
    expect(refusal).toEqual({
      ok: false,
      reason: 'credits',
      balance: 1000,
      availableBalance: 49.999,
      minimumRequired: 50,
    })
    if (refusal.ok) throw new Error('not refused')
    expect(insufficientCredits(refusal)).toMatchObject({
      status: 402,
      code: 'INSUFFICIENT_CREDITS',
      details: { balance: 1000, availableBalance: 49.999, minimumRequired: 50 },
    })
    expect(await billingOf(person)).toEqual(before)
  })

  test('repeated for a running execution answers the same; a settled one cannot start again', async () => {
    const person = await house.newPerson()
    const executionId = randomUUID()
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => start(person, { executionId, maxCost: 60 })),
    )
    const reservation = { reservationId: executionId, amountMilliDs: 60_000, limitedBy: 'max_cost' }
    for (const answer of answers) expect(answer).toEqual({ ok: true, reservation })
    expect(await billingOf(person)).toMatchObject({ reserved: 60 })
    await end(executionId, 1)
    await expect(start(person, { executionId })).rejects.toThrow('has been settled')
  })

  test('that rolls back leaves nothing, and neither does one whose connection dies', async () => {
    const person = await house.newPerson()
    const { database } = house.deps
    const { defaultMaxCostMilliDs } = house.deps.config
    const executionId = randomUUID()
    const kind = 'execution' as const
    const input = { ...person, executionId, kind, keyId: null, maxCostMilliDs: null, defaultMaxCostMilliDs }
    const failed = database.transaction(async (tx) => {
      await reserve(tx, input)
      throw new Error('the start failed')
    })
    await expect(failed).rejects.toThrow('the start failed')
    const killed = database.transaction(async (tx) => {
      await reserve(tx, input)
      await client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and state = 'idle in transaction'`,
      )
      await settle(tx, executionId, 1)
    })
    await expect(killed).rejects.toThrow()
    expect(await findReservation(database.db, executionId)).toBeUndefined()
    expect(await billingOf(person)).toMatchObject({ availableBalance: 1000, reserved: 0 })
    expect(await start(person, { executionId })).toMatchObject({ ok: true })
  })
})

describe('the end of an execution', () => {
  test('charges what was used, at most what was set aside, and gives back the rest', async () => {
    const person = await house.newPerson()
    const [short, long, never] = [randomUUID(), randomUUID(), randomUUID()]
    await start(person, { executionId: short, maxCost: 100 })
    await start(person, { executionId: long, maxCost: 100 })
    expect(await end(short, 12.345)).toBe(12_345)
    expect(await end(long, 100.5)).toBe(100_000)
    expect(await end(never, 7)).toBe(0)
    expect(await billingOf(person)).toMatchObject({
      balance: 887.655,
      availableBalance: 887.655,
      reserved: 0,
      spend: { total: 112.345 },
    })
    expect(await findReservation(house.deps.database.db, short)).toBeUndefined()
  })

  test('counts once: of settlements and releases side by side one wins and all answer what it charged', async () => {
    const person = await house.newPerson()
    let spent = 0
    for (let round = 0; round < 40; round++) {
      const executionId = randomUUID()
      await start(person, { executionId, maxCost: 60 })
      const charged = await Promise.all([end(executionId, 3), end(executionId, 0), end(executionId, 5)])
      expect(new Set(charged).size).toBe(1)
      expect([0, 3000, 5000]).toContain(charged[0])
      spent += charged[0] ?? 0
      expect(await end(executionId, 9)).toBe(charged[0])
    }
    expect(await billingOf(person)).toMatchObject({ reserved: 0, spend: { total: spent / 1000 } })
  })
})

describe("a key's spend limit", () => {
  test('bounds what was spent and what is set aside together', async () => {
    const person = await house.newPerson()
    const { id: keyId, secret } = await house.newKey(person, { spendLimit: 100 })
    const first = randomUUID()
    await start(person, { keyId, executionId: first, maxCost: 70 })
    expect(await start(person, { keyId })).toMatchObject({
      ok: true,
      reservation: { amountMilliDs: 30_000, limitedBy: 'key_limit' },
    })
    const refusal = await start(person, { keyId })
    expect(refusal).toMatchObject({ ok: false, reason: 'key_limit', availableBalance: 900 })
    if (refusal.ok) throw new Error('not refused')
    expect(insufficientCredits(refusal)).toMatchObject({
      status: 402,
      details: { reason: 'KEY_SPEND_LIMIT', keyLimit: { limit: 100, spent: 100, remaining: 0 } },
    })
    await end(first, 20)
    expect(await start(person, { keyId })).toMatchObject({ reservation: { amountMilliDs: 50_000 } })
    const { body } = await house.call('GET', '/api/v1/billing', { key: secret })
    expect(body.spend).toEqual({ total: 20, key: { total: 20, reserved: 80, limit: 100 } })
    const keys = await house.call('GET', '/api/v1/keys', { token: person.token })
    expect(keys.body[0].spend).toEqual({ total: 20, limit: 100, today: 20, month: 20 })
    const self = await house.call('GET', '/api/v1/agents/me', { key: secret })
    expect(self.body.budget).toEqual({ spent: 20, limit: 100 })
  })

  test('that is lowered holds for what is running; one that is raised lets the key start again', async () => {
    const person = await house.newPerson()
    const { id: keyId } = await house.newKey(person, { spendLimit: 100 })
    const { database } = house.deps
    const executionId = randomUUID()
    await start(person, { keyId, executionId, maxCost: 80 })
    const setLimit = (spendLimit: number) =>
      house.call('PATCH', `/api/v1/keys/${keyId}`, { token: person.token, body: { spendLimit } })
    await setLimit(10)
    expect(await findReservation(database.db, executionId)).toEqual({
      reservationId: executionId,
      amountMilliDs: 10_000,
      limitedBy: 'key_limit',
    })
    await end(executionId, 10)
    expect(await start(person, { keyId })).toMatchObject({ ok: false, reason: 'key_limit' })
    const raise = (id: number, toMilliDs: number) =>
      database.transaction((tx) => raiseSpendLimit(tx, id, toMilliDs))
    expect(await raise(keyId, 40_000)).toBe(40_000)
    expect(await raise(keyId, 5_000)).toBe(40_000)
    expect(await start(person, { keyId })).toMatchObject({ reservation: { amountMilliDs: 30_000 } })
    const unlimited = await house.newKey(person)
    expect(await raise(unlimited.id, 5_000)).toBeUndefined()
  })
})

describe('the ledger', () => {
  test('is read page by page, newest first, and tells a key only what ran in its own workspace', async () => {
    const person = await house.newPerson()
    const { id: keyId, secret } = await house.newKey(person, { scopes: ['billing:read'] })
    const elsewhere = await house.newTeam(person)
    const [here, there] = [randomUUID(), randomUUID()]
    await start(person, { executionId: here, keyId, maxCost: 60 })
    await start({ ...person, workspaceId: elsewhere }, { executionId: there, maxCost: 60 })
    await end(here, 10)
    await end(there, 60)
    const read = async (credential: { key: string } | { token: string }, limit: number) => {
      const items = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const path = `/api/v1/billing/ledger?limit=${limit}${cursor && `&cursor=${cursor}`}`
        const { body } = await house.call('GET', path, credential)
        items.push(...body.items)
        cursor = body.nextCursor
      }
      return items
    }
    const all = await read({ token: person.token }, 200)
    expect(all.map(({ kind, amount, executionId }) => [kind, amount, executionId])).toEqual([
      ['settle', 60, there],
      ['release', 50, here],
      ['settle', 10, here],
      ['reserve', 60, there],
      ['reserve', 60, here],
      ['grant', 1000, null],
    ])
    for (const limit of [1, 2, 5, 6]) expect(await read({ token: person.token }, limit)).toEqual(all)
    const asKey = await read({ key: secret }, 4)
    expect(asKey.map(({ amount }) => amount)).toEqual(all.map(({ amount }) => amount))
    expect(asKey.map(({ executionId }) => executionId)).toEqual([null, here, here, null, here, null])
    expect(asKey.map(({ workspaceId }) => workspaceId)).not.toContain(elsewhere)
  })

  test('refuses a cursor it did not hand out, and a key without the scope', async () => {
    const person = await house.newPerson()
    const cursors = [
      'x',
      Buffer.from('["0"]').toString('base64url'),
      Buffer.from('["1e9"]').toString('base64url'),
    ]
    for (const cursor of cursors) {
      const { status } = await house.call('GET', `/api/v1/billing/ledger?cursor=${cursor}`, person)
      expect(status).toBe(400)
    }
    const { secret } = await house.newKey(person, { scopes: ['profile:read'] })
    for (const path of ['/api/v1/billing', '/api/v1/billing/ledger'])
      expect((await house.call('GET', path, { key: secret })).status).toBe(403)
  })
})

describe('the operator’s command', () => {
  const run = async (...args: string[]) => {
    const program = join(server, 'src/grant-credits.ts')
    const env = { ...process.env, DATABASE_URL: databaseUrl }
    return promisify(execFile)(process.execPath, [program, ...args], { env }).then(
      ({ stdout }) => ({ code: 0, said: stdout }),
      (error) => ({ code: error.code, said: error.stderr }),
    )
  }

  test('grants, adjusts and refunds, and never more than there is', { timeout: 60_000 }, async () => {
    const person = await house.newPerson()
    const user = ['--user', person.userId]
    expect(await run(...user, '--amount', '12.345', '--note', 'Thanks')).toEqual({
      code: 0,
      said: `${person.email}: balance 1012.345 Ds, available 1012.345 Ds\n`,
    })
    expect(await run(...user, '--kind', 'adjust', '--amount=-1012.346')).toMatchObject({ code: 1 })
    expect(await run(...user, '--kind', 'adjust', '--amount=-12.345')).toMatchObject({ code: 0 })
    expect(await run(...user, '--kind', 'refund', '--amount', '1')).toMatchObject({ code: 1 })
    const executionId = randomUUID()
    await start(person, { executionId })
    await end(executionId, 2)
    expect(await run(...user, '--kind', 'refund', '--amount', '1.5')).toMatchObject({ code: 0 })
    expect(await billingOf(person)).toMatchObject({ balance: 999.5, spend: { total: 0.5 } })
  })

  test('says what to do when it cannot', { timeout: 60_000 }, async () => {
    const stranger = await run('--user', 'nobody@example.test', '--amount', '1')
    expect(stranger).toEqual({ code: 1, said: expect.stringContaining('Nobody is known as') })
    const someone = ['--user', randomUUID()]
    for (const args of [
      [],
      ['--amount', '1'],
      [...someone, '--amount', '1.2345'],
      [...someone, '--amount=-1'],
    ])
      expect(await run(...args)).toEqual({ code: 2, said: expect.stringContaining('Usage: ') })
  })
})
