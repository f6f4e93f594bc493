import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  isWellFormedSecret,
  parseEd25519Ring,
  type SecretKind,
  secretPattern,
  secretPrefixes,
} from '#platform/secrets.ts'
import { makeReceipt } from '#running/receipts/receipts.ts'
import { Signer } from '#running/receipts/signing.ts'
import { claimDue } from '#running/receipts/store.ts'
import { check } from '../../../../scripts/verify-receipt.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { definitionOf, runsOf } from '../../../../test/support/workflows.ts'
import { createDatabase, type House, openHouse, secretsOfTests, shiftClock } from '../support/house.ts'
import { makeReceipts } from '../support/receipts.ts'

/**
 * Receipts, where there is no engine: what is started ends at once, and is told as failed. Two processes share one
 * database. The system tests have receipts of real work.
 */
const mark = 'Nobody-but-the-agent-reads-this'
let databaseUrl: string
let houses: [House, House]
let house: House
let person: Person
let sql: pg.Client

beforeAll(async () => {
  databaseUrl = await createDatabase()
  const env = { DATABASE_URL: databaseUrl, STARTING_CREDITS: '100000', RUNS_PER_WORKSPACE: '0' }
  houses = [await openHouse(env), await openHouse(env)]
  house = houses[0]
  sql = new pg.Client({ connectionString: databaseUrl })
  await sql.connect()
  person = await newRunner()
})

afterAll(async () => {
  await sql?.end()
  await Promise.all((houses ?? []).map((one) => one.close()))
})

async function must(path: string, body: unknown, who: Person = person) {
  const answer = await house.call('POST', `/api/v1${path}`, { token: who.token, body })
  if (answer.status >= 400) throw new Error(`${path}: ${answer.text}`)
  return answer.body
}

async function newRunner(): Promise<Person> {
  const runner = await house.newPerson()
  const content = `---\nname: errand\ndescription: Runs.\n---\n${mark}\n`
  const { id } = await must('/artifacts', { type: 'skill', files: [{ path: 'SKILL.md', content }] }, runner)
  await must('/skills/errand/install', { artifactId: id }, runner)
  return runner
}

const newest = async () =>
  (await sql.query('select execution_id from executions order by id desc limit 1')).rows[0].execution_id

/** Starts one, which ends at once. */
async function ended(path = '/skills/errand/run', who: Person = person): Promise<string> {
  await house.call('POST', `/api/v1${path}`, { token: who.token, body: { input: `${mark} ${who.token}` } })
  return newest()
}

const get = (id: string, at: House = house, who: Person = person) =>
  at.call('GET', `/api/v1/receipts/${id}`, { token: who.token })
const keysOf = async (at: House = house) =>
  (await at.call('GET', '/.well-known/guildhall-receipt-keys')).body.keys
const dueCount = async () => Number((await sql.query('select count(*) from receipts_due')).rows[0].count)

test('what has ended has a receipt, which names what was done and by what right', async () => {
  const executionId = await ended()
  expect((await get(`receipt_${executionId}`)).status).toBe(404)
  await makeReceipts(house)
  const { status, body } = await get(`receipt_${executionId}`)
  expect(status).toBe(200)
  expect(body.receipt).toMatchObject({
    v: 1,
    id: `receipt_${executionId}`,
    issuer: 'http://house.test',
    subject: executionId,
    previous: null,
    actor: { userId: person.userId, apiKeyId: null, keyPrefix: null, oauthGrantId: null },
    what: { kind: 'execution', skill: { slug: 'errand', version: 1 }, models: [], toolCalls: [] },
    authority: [{ scope: 'tool:execute:errand', via: 'person', approvedBy: person.userId }],
    approvals: [],
    cost: { ds: 0, ledger: [expect.any(Number), expect.any(Number)] },
    stopReason: 'EXECUTION_FAILED',
    log: { events: 3 },
    redactions: 0,
  })
  expect(check(body, await keysOf())).toContain(executionId)
  const ledger = 'select id::int from ledger where execution_id = $1 order by id'
  const entries = (await sql.query(ledger, [executionId])).rows.map(({ id }) => id)
  expect(body.receipt.cost.ledger).toEqual(entries)
  const list = await house.call('GET', `/api/v1/traces/${body.receipt.traceId}/receipts`, person)
  expect(list.body.items.map(({ id }: { id: string }) => id)).toEqual([`receipt_${executionId}`])
})

test('its hash is that of the log as it is stored', async () => {
  const executionId = await ended()
  await makeReceipts(house)
  const { rows } = await sql.query(
    `select encode(sha256(string_agg(convert_to(sequence || ' ' || v.type || ' ' || payload || e'\\n', 'UTF8'), ''::bytea
       order by sequence)), 'hex') as sha256, count(*)::int as events
     from execution_events v join executions e on e.id = v.execution_id where e.execution_id = $1`,
    [executionId],
  )
  expect((await get(`receipt_${executionId}`)).body.receipt.log).toEqual(rows[0])
})

test('any byte of the answer that is another fails, and so does a key that is not published', async () => {
  const executionId = await ended()
  await makeReceipts(house)
  const { body } = await get(`receipt_${executionId}`)
  const { receipt, signature, keyId } = body
  const text = JSON.stringify({ receipt, signature, keyId })
  const keys = await keysOf()
  const bytes = Buffer.from(text)
  const passed: string[] = []
  for (let at = 0; at < bytes.length; at++) {
    for (const bit of [1, 32, 128]) {
      const flipped = Buffer.from(bytes)
      flipped.writeUInt8(flipped.readUInt8(at) ^ bit, at)
      try {
        check(JSON.parse(flipped.toString()), keys)
        passed.push(`${at}: ${flipped.subarray(Math.max(0, at - 10), at + 10)}`)
      } catch {}
    }
  }
  expect(bytes.length).toBeGreaterThan(800)
  expect(passed).toEqual([])
  const stranger = new Signer(parseEd25519Ring(`1:${randomBytes(32).toString('base64url')}`)).publicKeys
  expect(() => check(JSON.parse(text), [...stranger])).toThrow('not among the published')
  // Nor does another key under the same name.
  const swapped = stranger.map((key) => ({ ...key, kid: keys[0].kid }))
  expect(() => check(JSON.parse(text), swapped)).toThrow('does not fit')
})

test('a whole trace has one on demand, of what ran on it and of what was appended', async () => {
  const executionId = await ended()
  const { traceId } = (await house.call('GET', `/api/v1/executions/${executionId}/status`, person)).body
  const path = `/traces/${traceId}/receipts`
  const first = await must(path, undefined)
  const own = (await get(`receipt_${executionId}`)).body.receipt
  expect(first.receipt).toMatchObject({
    traceId,
    what: { kind: 'trace', receipts: [{ id: own.id }] },
    authority: own.authority,
    cost: { ledger: own.cost.ledger },
    previous: { id: own.id },
  })
  check(first, await keysOf())
  // The same until there is more to say.
  expect(await must(path, undefined)).toEqual(first)
  const turn = { type: 'agent.text', payload: { content: [{ type: 'text', text: mark }] } }
  await must(`/traces/${traceId}/events`, { events: [turn] })
  const second = await must(path, undefined)
  expect(second.receipt.previous.id).toBe(first.receipt.id)
  expect(second.receipt.log.events).toBe(first.receipt.log.events + 1)
  expect(JSON.stringify(second)).not.toContain(mark)
  check(second, await keysOf(), first)
  const { items } = (await house.call('GET', `/api/v1${path}`, person)).body
  expect(items.map(({ id }: { id: string }) => id)).toEqual([own.id, first.receipt.id, second.receipt.id])
})

test('nobody gets one of a trace on which something may still run', async () => {
  const { id } = await must('/executions', { skill_slug: 'errand', input: 'Wait.' })
  const { traceId } = (await house.call('GET', `/api/v1/executions/${id}/status`, person)).body
  const answer = await house.call('POST', `/api/v1/traces/${traceId}/receipts`, person)
  expect([answer.status, answer.body.error.details]).toEqual([409, { status: 'idle' }])
  await must(`/executions/${id}/cancel`, undefined)
})

test('after an erasure it is still good, and how much is gone is said', async () => {
  const erase = (executionId: string) =>
    sql.query(
      `update execution_events set payload = '{"redacted":true}'
       where sequence = 1 and execution_id = (select id from executions where execution_id = $1)`,
      [executionId],
    )
  const executionId = await ended()
  await makeReceipts(house)
  const before = (await get(`receipt_${executionId}`)).body
  expect([before.receipt.redactions, before.redactedSince]).toEqual([0, 0])
  await erase(executionId)
  const after = (await get(`receipt_${executionId}`)).body
  expect(after).toEqual({ ...before, redactedSince: 1 })
  check(after, await keysOf())
  // One that is made only then names it itself.
  const late = await ended()
  await erase(late)
  await makeReceipts(house)
  const { receipt, redactedSince } = (await get(`receipt_${late}`)).body
  expect([receipt.redactions, redactedSince]).toEqual([1, 0])
})

test('there is no prompt in it, no answer and no secret', async () => {
  const { secret } = await house.newKey(person, { access: 'full' })
  await house.call('POST', '/api/v1/skills/errand/run', { key: secret, body: { input: `${mark} ${secret}` } })
  const executionId = await newest()
  await makeReceipts(house)
  const { text, body } = await get(`receipt_${executionId}`)
  expect(text).not.toContain(mark)
  expect(text).not.toContain(person.token)
  const kinds = Object.keys(secretPrefixes) as SecretKind[]
  const found = text.match(secretPattern) ?? []
  expect(found.filter((one) => kinds.some((kind) => isWellFormedSecret(kind, one)))).toEqual([])
  // As much of the key as its owner is shown.
  expect(body.receipt.actor.keyPrefix).toBe(secret.slice(0, 'guild_live_'.length + 6))
})

test('receipts of one lineage name each other in their order', async () => {
  const first = await ended()
  const second = await ended(`/executions/${first}/rerun`)
  const third = await ended(`/executions/${second}/rerun`)
  await makeReceipts(house)
  const keys = await keysOf()
  const receipts = []
  for (const id of [first, second, third]) receipts.push((await get(`receipt_${id}`)).body)
  expect(new Set(receipts.map(({ receipt }) => receipt.traceKey)).size).toBe(1)
  // Made at the same time, in whichever order.
  const byId = new Map(receipts.map((one) => [one.receipt.id, one]))
  const followed = receipts.filter(({ receipt }) => receipt.previous !== null)
  expect(followed).toHaveLength(2)
  for (const one of followed) check(one, keys, byId.get(one.receipt.previous.id))
  const wrong = receipts.find(({ receipt }) => receipt.id !== followed[0]?.receipt.previous.id)
  expect(() => check(followed[0], keys, wrong)).toThrow('does not follow')
})

describe('two processes', () => {
  test('make one receipt of each, and one chain of those of a lineage', async () => {
    const root = await ended()
    const ids = [root]
    for (let n = 0; n < 15; n++) ids.push(await ended(`/executions/${root}/rerun`))
    // Also when both are at the same one, because the first took longer than it had.
    const parts = houses.map(({ deps }) => ({ ...deps, signer: new Signer(deps.config.receiptKeys) }))
    const both = ids.flatMap((subject) =>
      parts.map((one) => () => makeReceipt(one, { subject, kind: 'execution' })),
    )
    await Promise.all([...both.map((make) => make()), ...houses.map(makeReceipts)])
    const { rows } = await sql.query(
      'select id, body from receipts where subject = any($1) order by number',
      [ids],
    )
    expect(rows.map(({ id }) => id).sort()).toEqual(ids.map((id) => `receipt_${id}`).sort())
    const previous = rows.map(({ body }) => JSON.parse(body).previous?.id ?? null)
    expect(previous).toEqual([null, ...rows.slice(0, -1).map(({ id }) => id)])
    expect(await dueCount()).toBe(0)
  })

  test('one goes on with what the other took and did not finish', async () => {
    const executionId = await ended()
    expect(await claimDue(house.deps.database.db, 10)).toEqual([{ subject: executionId, kind: 'execution' }])
    await makeReceipts(houses[1])
    expect((await get(`receipt_${executionId}`)).status).toBe(404)
    await shiftClock(databaseUrl, 21)
    await makeReceipts(houses[1])
    await shiftClock(databaseUrl, 0)
    expect((await get(`receipt_${executionId}`)).status).toBe(200)
  })
})

test('what breaks off in the middle leaves nothing but what is due', async () => {
  await sql.query(`
    create function break_off() returns trigger language plpgsql as $$ begin raise exception 'broken off'; end $$;
    create trigger break_off before delete on receipts_due for each row execute function break_off()`)
  const executionId = await ended()
  await makeReceipts(house)
  expect((await get(`receipt_${executionId}`)).status).toBe(404)
  expect(await dueCount()).toBe(1)
  await sql.query('drop trigger break_off on receipts_due')
  await sql.query('update receipts_due set taken_until = null')
  await makeReceipts(houses[1])
  expect((await get(`receipt_${executionId}`)).status).toBe(200)
})

test('nobody gets a receipt for what has not ended', async () => {
  const { id } = await must('/executions', { skill_slug: 'errand', input: 'Wait.' })
  const graph = [{ type: 'mapping', id: 'm', mapConfig: '{"value":{"value":1}}' }]
  await runsOf(house, person).install('flow', definitionOf('flow', graph))
  const { runId } = await must('/workflows/flow/launch', {})
  const parts = { ...house.deps, signer: new Signer(house.deps.config.receiptKeys) }
  await makeReceipt(parts, { subject: id, kind: 'execution' })
  await makeReceipt(parts, { subject: runId, kind: 'run' })
  await makeReceipts(house)
  for (const subject of [id, runId]) expect((await get(`receipt_${subject}`)).status).toBe(404)
  // What never began has none either.
  await must(`/executions/${id}/cancel`, undefined)
  await must(`/workflows/runs/${runId}/cancel`, undefined)
  await makeReceipts(house)
  expect((await get(`receipt_${id}`)).status).toBe(404)
  const { body } = await get(`receipt_${runId}`)
  expect(body.receipt).toMatchObject({
    subject: runId,
    traceId: null,
    what: { kind: 'run', workflow: { slug: 'flow', definitionId: 'flow' } },
    authority: [{ scope: 'tool:execute', via: 'person', approvedBy: person.userId }],
    stopReason: 'canceled',
  })
  check(body, await keysOf())
})

test('a receipt is never changed', async () => {
  const executionId = await ended()
  await makeReceipts(house)
  await expect(
    sql.query(`update receipts set body = '{}' where subject = $1`, [executionId]),
  ).rejects.toThrow('never changed')
})

test('after a rotation old receipts are verified with the keys that are published then', async () => {
  const executionId = await ended()
  await makeReceipts(house)
  const before = await keysOf()
  const newer = `2:${randomBytes(32).toString('base64url')}`
  const rotated = await openHouse({
    DATABASE_URL: databaseUrl,
    ...secretsOfTests,
    RECEIPT_KEYS: `${newer},${secretsOfTests.RECEIPT_KEYS}`,
  })
  const next = await ended()
  await makeReceipts(rotated)
  const keys = await keysOf(rotated)
  expect(keys).toHaveLength(2)
  const [old, made] = [await get(`receipt_${executionId}`, rotated), await get(`receipt_${next}`, rotated)]
  check(old.body, keys)
  check(made.body, keys)
  expect(old.body.keyId).not.toBe(made.body.keyId)
  expect(() => check(made.body, before)).toThrow('not among the published')
  await rotated.close()
})

test('a member of another workspace finds none, nor whether there is one', async () => {
  const executionId = await ended()
  await makeReceipts(house)
  const stranger = await newRunner()
  const [foreign, missing] = [
    await get(`receipt_${executionId}`, house, stranger),
    await get(`receipt_${executionId.replace(/.$/, 'x')}`, house, stranger),
  ]
  expect([foreign.status, foreign.text]).toEqual([404, missing.text])
})
