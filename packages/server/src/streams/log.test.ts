import { expect, test } from 'vitest'
import { decodeNews, deltaFrame, encodeNews, fitting } from './frames.ts'
import { createLog } from './log.ts'

const { eventFrame, framesOf, newsOf, reachOf } = createLog({
  table: 'events',
  key: 'log_id',
  counters: 'logs',
  fence: 'attempt = $4',
  ended: 'false',
  channel: (id) => `log:${id}`,
  eventId: (id, sequence) => `evt_${id}_${sequence}`,
  isLast: (type) => type === 'session.status_idle',
})

const row = (sequence: number, text = 'x', type = 'agent.message') => ({
  sequence,
  type,
  payload: JSON.stringify({ text }),
})

test('a frame has the sequence as its id, and one line of data whatever is in it', () => {
  const hostile = 'a\nid: 99\r\n\n\u2028data: {}\u0000'
  const frame = eventFrame(7, row(3, hostile))
  expect(frame).toMatch(/^id: 3\ndata: [^\r\n]*\n\n$/)
  expect(JSON.parse(frame.slice(frame.indexOf('{')))).toEqual({
    id: 'evt_7_3',
    type: 'agent.message',
    sequence: 3,
    payload: { text: hostile },
  })
  expect(deltaFrame(hostile)).toMatch(/^data: [^\r\n]*\n\n$/)
})

test('news arrives as it was sent', () => {
  for (const news of [
    newsOf(7, [row(4), row(5, 'two\nlines')]),
    newsOf(7, [row(6, '', 'session.status_idle')]),
    { kind: 'deltas', after: 6, frames: deltaFrame('Hel') } as const,
    { kind: 'deltas', after: Number.POSITIVE_INFINITY, frames: deltaFrame('') } as const,
    { kind: 'events', first: 9, last: 9, ended: false, frames: '' } as const,
  ]) {
    expect(decodeNews(encodeNews(news))).toEqual(news)
  }
  expect(() => decodeNews('else 1 2\n')).toThrow('unknown kind')
})

test('what does not fit the length is left out, but for the first', () => {
  const rows = [row(1, 'x'.repeat(500)), row(2), row(3, '', 'session.status_idle')]
  const kept = (maxLength: number) => {
    const { rows: some, length } = fitting(rows, maxLength)
    expect(framesOf(7, some).length).toBeLessThanOrEqual(length)
    return reachOf(some)
  }
  expect(kept(10_000)).toEqual({ first: 1, last: 3, ended: true })
  expect(kept(900)).toEqual({ first: 1, last: 2, ended: false })
  expect(kept(10)).toEqual({ first: 1, last: 1, ended: false })
})
