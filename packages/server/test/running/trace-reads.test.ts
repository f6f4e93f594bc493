import { setTimeout } from 'node:timers/promises'
import type { NewExecutionEvent } from '@guildhall/contract'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { appendEvents } from '#running/executions/event-log.ts'
import { executionTurns } from '#running/executions/executions.ts'
import { Numbering, readTurns } from '#running/traces/traces.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { patienceFor } from '../../../../test/support/sizes.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { by, newExecution, stageIn } from '../support/writing-stage.ts'

/** What a worker and its database do to a trace, as its readers see it. No worker runs here: the log is written by hand. */
let house: House
let person: Person

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
  person = await house.newPerson()
})

afterAll(() => house.close())

const call = (method: string, path: string, body?: unknown) =>
  by(stageIn(house, 'reads'), person)(method, path, body)

/** Begun as by a start, with an attempt that may write. */
async function newProducer(): Promise<{ traceId: string; rowId: number }> {
  const executionId = await newExecution(stageIn(house, 'reads'), person)
  const { db } = house.deps.database
  const row = await db
    .updateTable('executions')
    .set({ status: 'working', attempt: 1 })
    .where('execution_id', '=', executionId)
    .returning(['id', 'trace_id'])
    .executeTakeFirstOrThrow()
  return { traceId: row.trace_id, rowId: row.id }
}

async function end(rowId: number): Promise<void> {
  const { db } = house.deps.database
  await db.updateTable('executions').set({ status: 'completed' }).where('id', '=', rowId).execute()
}

const told = (text: string): NewExecutionEvent => ({
  type: 'agent.message',
  payload: { content: [{ type: 'text', text }] },
})
const cost = { type: 'execution.cost', payload: { cost: 1 } } as const
const write = (rowId: number, ...events: Parameters<typeof appendEvents>[3]) =>
  appendEvents(house.deps.database, rowId, 1, events)
const turns = (traceId: string, query = '') => call('GET', `/traces/${traceId}/events${query}`)
const seqs = (page: { items: { seq: number }[] }) => page.items.map(({ seq }) => seq)

describe('turns of a producer', () => {
  test('have a number for every event, and those that are none leave it unused', async () => {
    const { traceId, rowId } = await newProducer()
    await write(rowId, told('One.'), cost, cost, told('Two.'))
    expect(seqs(await turns(traceId))).toEqual([1, 4])
    await call('POST', `/traces/${traceId}/events`, { events: [{ type: 'agent.text', payload: {} }] })
    await write(rowId, cost, told('Three.'))
    expect(seqs(await turns(traceId))).toEqual([1, 4, 5, 7])
    await end(rowId)
  })

  test('are read page by page alike, however small the pages are', async () => {
    const { traceId, rowId } = await newProducer()
    for (let round = 0; round < 30; round++) {
      await write(rowId, told(`${round}`), ...Array.from({ length: round * 3 }, () => cost), told('.'))
      const event = { type: 'tool.call', payload: { round } }
      if (round % 4 === 0) await call('POST', `/traces/${traceId}/events`, { events: [event, event] })
    }
    const { database, redis } = house.deps
    const reading = { database, sources: { execution: executionTurns(redis) }, numbering: new Numbering(10) }
    const trace = { workspaceId: person.workspaceId, id: traceId }
    const whole = await readTurns(reading, trace, { afterSeq: 0, limit: 10_000 })
    expect(whole?.items).toHaveLength(30 * 2 + 8 * 2)
    for (const limit of [1, 7]) {
      const walked: unknown[] = []
      for (let afterSeq = 0; ; ) {
        const page = await readTurns(reading, trace, { afterSeq, limit })
        walked.push(...(page?.items ?? []))
        const last = page?.items.at(-1)
        if (!last) break
        afterSeq = last.seq
      }
      expect(walked).toEqual(whole?.items)
    }
    expect(
      await readTurns(reading, { ...trace, id: 'trace_none' }, { afterSeq: 0, limit: 1 }),
    ).toBeUndefined()
    await end(rowId)
  })

  test('that are no longer kept are told of', async () => {
    const { traceId, rowId } = await newProducer()
    await write(rowId, told('Old.'), cost)
    await end(rowId)
    expect(seqs(await turns(traceId))).toEqual([1])
    await call('POST', `/traces/${traceId}/events`, { events: [{ type: 'agent.text', payload: {} }] })
    await house.deps.database.db.deleteFrom('execution_events').where('execution_id', '=', rowId).execute()
    const page = await turns(traceId)
    expect(seqs(page)).toEqual([3])
    expect(page).toMatchObject({ lastSeq: 3, expiredThroughSeq: 2 })
  })

  test('are not told to be gone before a page has come to them', async () => {
    const kept = await newProducer()
    await write(kept.rowId, told('Kept.'), told('Kept too.'))
    await end(kept.rowId)
    await turns(kept.traceId)
    const executionId = (await call('POST', '/executions', { sessionId: kept.traceId })).id
    const { db } = house.deps.database
    const gone = await db
      .updateTable('executions')
      .set({ status: 'working', attempt: 1 })
      .where('execution_id', '=', executionId)
      .returning('id')
      .executeTakeFirstOrThrow()
    await write(gone.id, told('Gone.'), cost)
    await end(gone.id)
    expect(seqs(await turns(kept.traceId))).toEqual([1, 2, 3])
    await db.deleteFrom('execution_events').where('execution_id', '=', gone.id).execute()
    expect(await turns(kept.traceId, '?limit=1')).not.toHaveProperty('expiredThroughSeq')
    const rest = await turns(kept.traceId, '?afterSeq=1')
    expect([seqs(rest), rest.expiredThroughSeq]).toEqual([[2], 4])
  })

  test('of something that ended are read without writing', async () => {
    const { traceId, rowId } = await newProducer()
    await write(rowId, told('Done.'))
    await end(rowId)
    await turns(traceId)
    const versions = async () => {
      const rows = await Promise.all([
        house.deps.database.hot<{ x: string }>(
          { name: 'versions', text: 'select xmin::text as x from traces where id = $1' },
          [traceId],
        ),
        house.deps.database.hot<{ x: string }>(
          { name: 'piece-versions', text: 'select xmin::text as x from trace_pieces where trace_id = $1' },
          [traceId],
        ),
      ])
      return rows.flat()
    }
    const before = await versions()
    expect(seqs(await turns(traceId))).toEqual([1])
    expect(await versions()).toEqual(before)
  })

  test('carry no secret of ours into an appended turn', async () => {
    const { traceId, rowId } = await newProducer()
    const { secret } = await house.newKey(person)
    const payload = { text: `use ${secret} for it` }
    await call('POST', `/traces/${traceId}/events`, { events: [{ type: 'agent.text', payload }] })
    const { items } = await turns(traceId)
    expect(items[0].payload).toEqual({ text: 'use guild_live_[redacted] for it' })
    await end(rowId)
  })
})

test('who waits for a turn is told of it and need not look', async () => {
  const { traceId, rowId } = await newProducer()
  await end(rowId)
  // No timer of this process ends from here on, so nobody looks a second time by themselves.
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  try {
    const waiting = turns(traceId, '?wait=20')
    const heard = () => house.deps.redis.attempt((redis) => redis.pubsub('NUMSUB', `live:trace:${traceId}`))
    while (String((await heard())?.[1]) !== '1') await setTimeout(20)
    // It has looked once and found nothing.
    await setTimeout(300)
    await call('POST', `/traces/${traceId}/events`, { events: [{ type: 'agent.text', payload: {} }] })
    const told = await Promise.race([waiting, setTimeout(patienceFor(5000), 'nothing')])
    expect(told).toMatchObject({ items: [{ type: 'agent.text' }] })
  } finally {
    // Whoever still waits looks then, and goes on in time.
    vi.runOnlyPendingTimers()
    vi.useRealTimers()
  }
})

test('who waits for a turn and loses access meanwhile does not get it', async () => {
  const { traceId, rowId } = await newProducer()
  await end(rowId)
  const [kept, lost] = [await house.newKey(person), await house.newKey(person)]
  const waiting = [kept, lost].map(({ secret: key }) =>
    house.call('GET', `/api/v1/traces/${traceId}/events?wait=20`, { key }),
  )
  await setTimeout(300)
  await call('DELETE', `/keys/${lost.id}`)
  // Longer than a process believes what it knows of a key.
  await setTimeout(2000)
  await call('POST', `/traces/${traceId}/events`, { events: [{ type: 'agent.text', payload: {} }] })
  const [had, refused] = await Promise.all(waiting)
  expect([had?.status, had?.body.items.length]).toEqual([200, 1])
  expect([refused?.status, refused?.text]).toEqual([401, expect.not.stringContaining('agent.text')])
})

test('an appended payload comes back as it was, whatever its fields are called', async () => {
  const { traceId, rowId } = await newProducer()
  await end(rowId)
  const names = ['', 'a\nb', 'a\u2028b', 'toJSON', 'type', '0', '$ref']
  const fields = Object.fromEntries(names.map((name) => [name, [null, 0.1, {}]]))
  const payload = { ...fields, deep: fields }
  const answer = await house.call('POST', `/api/v1/traces/${traceId}/events`, {
    token: person.token,
    body: { events: [{ type: 'agent.text', payload }] },
  })
  expect([answer.status, answer.headers.get('x-ignored-fields')]).toEqual([201, null])
  expect((await turns(traceId)).items[0].payload).toEqual(payload)
})

test('a producer brings no secret of ours into its log, nor into the title', async () => {
  const { secret } = await house.newKey(person)
  const stage = stageIn(house, 'reads', `${'x'.repeat(60)} ${secret}`)
  const executionId = await newExecution(stage, person)
  const { db } = house.deps.database
  const { id: rowId, trace_id: traceId } = await db
    .updateTable('executions')
    .set({ status: 'working', attempt: 1 })
    .where('execution_id', '=', executionId)
    .returning(['id', 'trace_id'])
    .executeTakeFirstOrThrow()
  const summary = `got ${secret}`
  await write(rowId, told(summary), {
    type: 'agent.tool_result',
    payload: { toolUseId: 'a', isError: false, summary },
  })
  await end(rowId)
  const { items } = await turns(traceId)
  expect(items.map((turn: { payload: unknown }) => turn.payload)).toEqual([
    { content: [{ type: 'text', text: 'got guild_live_[redacted]' }] },
    { toolUseId: 'a', isError: false, summary: 'got guild_live_[redacted]' },
  ])
  const { title } = await call('GET', `/traces/${traceId}`)
  expect(title).toContain('guild_live_[')
})

describe('numbers of an append', () => {
  const send = (traceId: string, events: unknown[]) =>
    house.call('POST', `/api/v1/traces/${traceId}/events`, { token: person.token, body: { events } })
  const event = (text: string, seq: number) => ({ type: 'agent.text', payload: { text }, seq })

  test('that do not rise are refused as such, also when one of them is stored', async () => {
    const { traceId, rowId } = await newProducer()
    await end(rowId)
    expect((await send(traceId, [event('Mine.', 5)])).status).toBe(201)
    for (const events of [
      [event('Mine.', 5), event('Another.', 5)],
      [event('Mine.', 5), event('Another.', 4)],
    ]) {
      const { status, body } = await send(traceId, events)
      expect([status, body.error.details.reason]).toEqual([400, 'SEQ_NOT_RISING'])
    }
    expect((await send(traceId, [event('Mine.', 5), event('Next.', 6)])).status).toBe(409)
  })
})

test('a trace of nothing that ran is gone on with when the skill is named', async () => {
  const { traceId, rowId } = await newProducer()
  await end(rowId)
  const { db } = house.deps.database
  await db.updateTable('traces').set({ execution_id: null }).where('id', '=', traceId).execute()
  const create = (body: object) => house.call('POST', '/api/v1/executions', { token: person.token, body })
  const unnamed = await create({ sessionId: traceId })
  expect([unnamed.status, unnamed.body.error.details]).toEqual([400, { field: 'skill_slug' }])
  const { id } = (await create({ sessionId: traceId, skill_slug: 'writer' })).body
  expect((await call('GET', `/executions/${id}/status`)).traceId).toBe(traceId)
  expect((await create({ sessionId: 'trace_none', skill_slug: 'writer' })).status).toBe(404)
})

describe('limits of an append', () => {
  test('a payload of 64 KiB is taken and a larger one is not', async () => {
    const { traceId, rowId } = await newProducer()
    await end(rowId)
    const event = (length: number) => ({ type: 'agent.text', payload: { t: 'x'.repeat(length) } })
    await call('POST', `/traces/${traceId}/events`, { events: [event(65_536 - 8)] })
    const answer = await house.call('POST', `/api/v1/traces/${traceId}/events`, {
      token: person.token,
      body: { events: [event(65_536 - 7)] },
    })
    expect([answer.status, answer.body.error.details]).toEqual([400, { limit: 65_536 }])
  })

  test('a trace takes a hundred thousand turns and no more', async () => {
    const { traceId, rowId } = await newProducer()
    await end(rowId)
    const { db } = house.deps.database
    await db.updateTable('traces').set({ appended_turns: 99_999 }).where('id', '=', traceId).execute()
    const event = { type: 'agent.text', payload: {} }
    const send = (events: unknown[]) =>
      house.call('POST', `/api/v1/traces/${traceId}/events`, { token: person.token, body: { events } })
    expect((await send([event, event])).body.error.details).toEqual({ limit: 100_000 })
    expect((await send([event])).status).toBe(201)
    expect((await send([event])).status).toBe(400)
  })
})
