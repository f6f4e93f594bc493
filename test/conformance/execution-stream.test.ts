import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { newPerson } from './support/actors.ts'
import { pause } from './support/client.ts'
import { withProcessClock } from './support/clock.ts'
import { openStream } from './support/event-streams.ts'
import {
  bash,
  eventOf,
  message,
  mustRun,
  newRunner,
  post,
  prepare,
  quick,
  runThrough,
  script,
  streamUrl,
  typesOf,
} from './support/executions.ts'
import { expectRefusal } from './support/shapes.ts'
import { stackOnly } from './support/stack-only.ts'
import { verifies } from './verifies.ts'

/** Many events, over a second or more. */
const long = script(
  ...Array.from({ length: 12 }, (_, index) => ({
    say: `Step ${index}.`,
    tools: [bash(`echo ${index}; sleep 0.05`)],
    delayMs: 40,
  })),
)

async function readAll(url: string, headers: Record<string, string> = {}) {
  const stream = await openStream(url, headers)
  await stream.ended
  return stream
}

describe('the address of a stream', () => {
  test('is absolute and proves itself', async () => {
    verifies('stream:token:answer', 'stream:token:signed', 'stream:headers:sse')
    const person = await newRunner()
    const { executionId } = await runThrough(person, quick)
    const answer = await person.get<{ sseUrl: string }>(`/executions/${executionId}/stream-token`)
    expect(answer.status).toBe(200)
    const { sseUrl } = answer.body
    expect(sseUrl).toMatch(/^https?:\/\/[^/]+\//)
    expect(sseUrl).toContain(executionId)
    const opened = await readAll(sseUrl)
    expect(opened.status).toBe(200)
    expect(opened.headers['content-type']).toMatch(/^text\/event-stream/)
    expect(opened.frames.length).toBeGreaterThan(2)
    const signature = sseUrl.lastIndexOf('.') + 1
    expect(sseUrl.length - signature).toBeGreaterThan(40)
    const places = Array.from({ length: sseUrl.length - signature }, (_, index) => signature + index)
    const inId = sseUrl.indexOf(executionId) + executionId.length
    for (const place of [...places, inId - 1, inId - 12]) {
      for (const other of ['A', 'B', 'b'].filter((each) => each !== sseUrl[place]).slice(0, 2)) {
        const changed = sseUrl.slice(0, place) + other + sseUrl.slice(place + 1)
        const refused = await readAll(changed)
        expect([place, other, refused.status]).toEqual([place, other, 401])
        expect(refused.frames).toEqual([])
      }
    }
  })

  test('of one execution does not open another', async () => {
    verifies('stream:token:signed')
    const person = await newRunner()
    const [mine, other] = [await prepare(person), await prepare(person)]
    const url = await streamUrl(person, mine)
    expect((await readAll(url.replace(mine, other))).status).toBe(401)
  })

  test('is not given for an id that is unknown or of another workspace', async () => {
    verifies('stream:token:unknown-404')
    const [person, other] = [await newPerson(), await newRunner()]
    const foreign = await person.get(`/executions/${await prepare(other)}/stream-token`)
    const unknown = await person.get(`/executions/exec_${randomUUID()}/stream-token`)
    expectRefusal(foreign, 404, 'NOT_FOUND')
    expect(unknown.status).toBe(404)
    expect(unknown.text).toBe(foreign.text)
  })

  stackOnly('can be opened for a minute', () => {
    verifies('stream:token:short-lived')
    return withProcessClock(async (setAhead) => {
      const person = await newRunner()
      const executionId = await prepare(person)
      const [late, inTime] = [await streamUrl(person, executionId), await streamUrl(person, executionId)]
      const early = await openStream(await streamUrl(person, executionId))
      await setAhead(58)
      const stream = await openStream(inTime)
      expect(stream.status).toBe(200)
      await setAhead(61)
      expect((await readAll(late)).status).toBe(401)
      const fresh = await openStream(await streamUrl(person, executionId))
      expect(fresh.status).toBe(200)
      expect((await post(person, executionId, message(quick))).status).toBe(200)
      for (const each of [early, stream, fresh]) {
        await each.ended
        expect(eventOf(each.frames.at(-1) ?? { id: '', data: '{}' }).type).toBe('session.status_idle')
      }
    })
  })
})

describe('a stream', () => {
  test('has frames of one event each, under its sequence', async () => {
    verifies('stream:frame:id-is-sequence', 'stream:frame:data-is-event-json')
    const person = await newRunner()
    const { executionId, log } = await runThrough(person, long)
    const { frames } = await readAll(await streamUrl(person, executionId))
    expect(frames).toHaveLength(log.length)
    for (const frame of frames) {
      const event = eventOf(frame)
      expect(event).toEqual({
        id: expect.any(String),
        type: expect.any(String),
        sequence: expect.any(Number),
        payload: expect.any(Object),
      })
      expect(frame.id).toBe(String(event.sequence))
    }
  })

  test('begins at the first event, or after the one it is told', async () => {
    verifies(
      'stream:resume:zero-is-full-replay',
      'stream:replay:from-start-no-gaps',
      'stream:resume:last-seq',
    )
    const person = await newRunner()
    const { executionId } = await runThrough(person, quick)
    const all = await readAll(await streamUrl(person, executionId))
    const sequences = all.frames.map((frame) => eventOf(frame).sequence)
    expect(sequences).toEqual(sequences.map((_, index) => index + 1))
    expect(sequences.length).toBeGreaterThan(4)
    const zero = await readAll(await streamUrl(person, executionId, '&lastSeq=0'))
    expect(zero.frames).toEqual(all.frames)
    const later = await readAll(await streamUrl(person, executionId, '&lastSeq=2'))
    expect(later.frames).toEqual(all.frames.slice(2))
    const header = await readAll(await streamUrl(person, executionId), { 'last-event-id': '3' })
    expect(header.frames).toEqual(all.frames.slice(3))
  })

  test('waits for the first event of an idle execution', async () => {
    verifies('stream:idle:waits')
    const person = await newRunner()
    const executionId = await prepare(person)
    const stream = await openStream(await streamUrl(person, executionId))
    expect(stream.status).toBe(200)
    await pause(1000)
    expect(stream.frames).toEqual([])
    await post(person, executionId, message(quick))
    await stream.ended
    const types = typesOf(stream.frames.map(eventOf))
    expect(types.slice(0, 2)).toEqual(['user.message', 'session.status_running'])
  })

  test('opened at any moment of a run comes to the same list, and ends with it', async () => {
    verifies('stream:live:after-replay', 'stream:end:after-idle', 'stream:replay:from-start-no-gaps')
    const person = await newRunner()
    const executionId = await mustRun(person, long)
    const urls = await Promise.all(Array.from({ length: 12 }, () => streamUrl(person, executionId)))
    const streams = await Promise.all(
      urls.map(async (url, index) => {
        await pause(index * 100 + Math.random() * 100)
        return readAll(url)
      }),
    )
    const full = await readAll(await streamUrl(person, executionId))
    expect(eventOf(full.frames.at(-1) ?? { id: '', data: '{}' }).type).toBe('session.status_idle')
    for (const { frames } of streams) expect(frames).toEqual(full.frames)
    expect(full.frames.length).toBeGreaterThan(50)
  })

  test('that is cut and resumed misses nothing and repeats nothing', async () => {
    verifies('stream:resume:reconnect-same')
    const person = await newRunner()
    const executionId = await mustRun(person, long)
    const got: string[] = []
    for (const more of [3, 1, 13, 13]) {
      const upTo = got.length + more
      const stream = await openStream(await streamUrl(person, executionId, `&lastSeq=${got.length}`))
      await stream.next((frame) => frame.id === String(upTo))
      stream.close()
      got.push(...stream.frames.map(({ data }) => data))
    }
    const rest = await readAll(await streamUrl(person, executionId, `&lastSeq=${got.length}`))
    got.push(...rest.frames.map(({ data }) => data))
    const full = await readAll(await streamUrl(person, executionId))
    expect(got).toEqual(full.frames.map(({ data }) => data))
  })
})
