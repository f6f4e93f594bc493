import { afterAll, beforeAll, expect, test } from 'vitest'
import { appendEvents } from '#running/executions/event-log.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { callsOf, newTrace, said } from '../support/traces.ts'

let house: House
let person: Person

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
  person = await house.newPerson()
})

afterAll(() => house?.close())

const mark = (traceId: string, body: unknown, credential: { token?: string; key?: string } = person) =>
  house.call('POST', `/api/v1/traces/${traceId}/marks`, { body, ...pick(credential) })
const pick = ({ token, key }: { token?: string; key?: string }) =>
  key === undefined ? { token: token ?? '' } : { key }
const twoTurns = () => newTrace(house, person, [said('what stays'), said('what leaves')])

test.each(['md', 'jsonl', 'otlp'])(
  'a marked turn is not in an export as %s, and is still read',
  async (format) => {
    const traceId = await twoTurns()
    const answer = await mark(traceId, { seqs: [1, 1], reason: 'A customer is named' })
    expect([answer.status, answer.body]).toEqual([200, { success: true }])
    const { secret } = await house.newKey(person)
    const path = `/api/v1/traces/${traceId}/export?content=on&format=${format}`
    const { text } = await house.call('GET', path, { key: secret })
    expect(text).not.toContain('what stays')
    expect(text).toContain('what leaves')
    expect((await callsOf(house, person)('GET', `/traces/${traceId}/events`)).items).toHaveLength(2)
  },
)

test('marking twice is as once, and keeps who did it first', async () => {
  const traceId = await twoTurns()
  expect((await mark(traceId, { seqs: [1], reason: 'first' })).status).toBe(200)
  expect((await mark(traceId, { seqs: [2, 1], reason: 'second' })).status).toBe(200)
  const { db } = house.deps.database
  const rows = await db
    .selectFrom('trace_marks')
    .selectAll()
    .where('trace_id', '=', traceId)
    .orderBy('seq')
    .execute()
  expect(rows).toMatchObject([
    { seq: 1, marked_by: person.userId, reason: 'first' },
    { seq: 2, reason: 'second' },
  ])
})

test('a number that was not given yet is refused, and nothing is marked', async () => {
  const traceId = await twoTurns()
  const answer = await mark(traceId, { seqs: [1, 3] })
  expect([answer.status, answer.body.error.details]).toEqual([400, { lastSeq: 2 }])
  expect((await mark(traceId, { seqs: [] })).status).toBe(400)
  const { db } = house.deps.database
  expect(await db.selectFrom('trace_marks').select('seq').where('trace_id', '=', traceId).execute()).toEqual(
    [],
  )
})

test('only a person who is signed in and a member marks', async () => {
  const traceId = await twoTurns()
  const { secret } = await house.newKey(person)
  expect((await mark(traceId, { seqs: [1] }, { key: secret })).status).toBe(403)
  expect((await mark(traceId, { seqs: [1] }, await house.newPerson())).status).toBe(404)
})

test('a mark is taken back', async () => {
  const traceId = await twoTurns()
  await mark(traceId, { seqs: [1, 2] })
  const answer = await house.call('DELETE', `/api/v1/traces/${traceId}/marks`, {
    token: person.token,
    body: { seqs: [1, 99] },
  })
  expect([answer.status, answer.body]).toEqual([200, { success: true }])
  const path = `/api/v1/traces/${traceId}/export`
  const { text } = await house.call('GET', path, { token: person.token })
  expect(text).toContain('what stays')
  expect(text).not.toContain('what leaves')
})

const erase = (
  traceId: string,
  seq: number | string,
  credential: { token?: string; key?: string } = person,
) => house.call('POST', `/api/v1/traces/${traceId}/events/${seq}/redact`, pick(credential))
const turnsOf = async (traceId: string) =>
  (await callsOf(house, person)('GET', `/traces/${traceId}/events`)).items.map(
    ({ seq, type, payload }: { seq: number; type: string; payload: unknown }) => [seq, type, payload],
  )

test('what an appended turn says is gone for good, its number stays, and the log of the workspace tells who', async () => {
  const traceId = await twoTurns()
  expect((await erase(traceId, 1)).body).toEqual({ success: true })
  const turns = await turnsOf(traceId)
  expect(turns[0]).toEqual([1, 'agent.text', { redacted: true }])
  expect(JSON.stringify(turns[1])).toContain('what leaves')
  const { db } = house.deps.database
  const rows = await db.selectFrom('trace_turns').select('payload').where('trace_id', '=', traceId).execute()
  expect(JSON.stringify(rows)).not.toContain('what stays')
  const activity = await callsOf(house, person)('GET', '/activity?type=trace.turn_erased')
  expect(JSON.stringify(activity)).toContain(traceId)
  expect((await erase(traceId, 1)).status).toBe(200)
})

test('in the log of what produced it too, and the execution is still read', async () => {
  const traceId = await newTrace(house, person)
  const { db } = house.deps.database
  const { id, execution_id } = await db
    .updateTable('executions')
    .set({ status: 'working', attempt: 1 })
    .where('trace_id', '=', traceId)
    .returning(['id', 'execution_id'])
    .executeTakeFirstOrThrow()
  await appendEvents(house.deps.database, id, 1, [
    {
      type: 'agent.tool_use',
      payload: { name: 'bash', tool: 'bash', label: 'Run what stays', toolUseId: 'a' },
    },
    { type: 'execution.cost', payload: { cost: 1 } },
    { type: 'agent.message', payload: { content: [{ type: 'text', text: 'what leaves' }] } },
    { type: 'session.status_idle', payload: { stop_reason: { type: 'error', code: 'SANDBOX_LOST' } } },
  ])
  await db.updateTable('executions').set({ status: 'failed' }).where('id', '=', id).execute()
  expect((await erase(traceId, 1)).status).toBe(200)
  expect((await turnsOf(traceId))[0]).toEqual([1, 'tool.call', { redacted: true }])
  const status = await house.call('GET', `/api/v1/executions/${execution_id}/status`, { token: person.token })
  expect(status.status, status.text).toBe(200)
  expect(status.text).not.toContain('what stays')
  expect(status.text).toContain('what leaves')
  // An event that is no turn, a number that was not given, what is no number, and how it ended.
  expect((await erase(traceId, 2)).status).toBe(404)
  expect((await erase(traceId, 5)).status).toBe(404)
  expect((await erase(traceId, '1e0')).status).toBe(404)
  expect((await erase(traceId, 4)).status).toBe(400)
})

test('only a person who is signed in and a member erases', async () => {
  const traceId = await twoTurns()
  const { secret } = await house.newKey(person)
  expect((await erase(traceId, 1, { key: secret })).status).toBe(403)
  expect((await erase(traceId, 1, await house.newPerson())).status).toBe(404)
  expect(JSON.stringify(await turnsOf(traceId))).toContain('what stays')
})
