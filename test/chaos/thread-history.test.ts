import { expect, test } from 'vitest'
import { judge, type LoggedEvent, type RunSeen, type ThreadHistory } from './thread-history.ts'

/** One message, one run, one Ds: what the judge says when something about it is not so. */
const runId = 'a'
const log: LoggedEvent[] = [
  { sequence: 1, type: 'user.message', runId, payload: { messageId: 'm' } },
  { sequence: 2, type: 'run.started', runId, payload: {} },
  { sequence: 3, type: 'agent.message', runId, payload: { readThrough: 1 } },
  { sequence: 4, type: 'run.cost', runId, payload: {} },
  { sequence: 5, type: 'run.finished', runId, payload: { cost: 1 } },
]
const frames = log.map(({ sequence }) => ({ id: String(sequence), data: String(sequence) }))
const run: RunSeen = {
  runId,
  threadId: 't',
  status: 'completed',
  steps: 1,
  lastMessage: 1,
  deliveredThrough: 1,
  costMilliDs: 1000,
}
const executionId = `chat_${runId}.0`
const entry = (source: string, target: string, amountMilliDs: number, of: string | null = executionId) => ({
  userId: 'ada',
  source,
  target,
  amountMilliDs,
  executionId: of,
})
const entries = [
  entry('issued', 'available', 9000, null),
  entry('available', 'reserved', 5000),
  entry('reserved', 'spent', 1000),
  entry('reserved', 'available', 4000),
]
const money = {
  entries,
  accounts: [{ userId: 'ada', available: 8000, reserved: 0, spent: 1000 }],
  reservations: [{ executionId, amountMilliDs: 5000, chargedMilliDs: 1000 }],
}

function history(changes: Partial<ThreadHistory> = {}): ThreadHistory {
  return {
    accepted: [{ messageId: 'm', runId: `chat_${runId}`, threadId: 't' }],
    sent: 1,
    logs: new Map([['t', log]]),
    runs: [run],
    readings: [{ threadId: 't', frames }],
    replays: new Map([['t', frames]]),
    interrupted: new Set(),
    money,
    ...changes,
  }
}

test('what can have happened is left alone', () => {
  expect(judge(history())).toEqual([])
})

const reservation = money.reservations.map((one) => ({ ...one, chargedMilliDs: 400 }))

test.each<[string, Partial<ThreadHistory>, RegExp]>([
  [
    'a run that is charged less than it cost',
    { money: { ...money, reservations: reservation } },
    /400 was charged/,
  ],
  ['a run that tells another cost', { runs: [{ ...run, costMilliDs: 1001 }] }, /told 1/],
  ['an entry that is missing', { money: { ...money, entries: entries.slice(0, 3) } }, /entries for/],
  [
    'an entry that is there twice',
    { money: { ...money, entries: [...entries, ...entries.slice(2, 3)] } },
    /ada has/,
  ],
  ['a reservation of nobody', { runs: [] }, /of no run/],
  ['an end that nobody wanted', { runs: [{ ...run, status: 'failed' }] }, /ended as failed/],
  ['a message that is lost', { logs: new Map([['t', log.slice(1)]]) }, /0 times in the log/],
])('%s is found', (_what, changes, violation) => {
  expect(judge(history(changes)).join('\n')).toMatch(violation)
})

test('a run that somebody interrupted may have ended so', () => {
  const interrupted = new Set([`chat_${runId}`])
  expect(judge(history({ interrupted, runs: [{ ...run, status: 'failed' }] }))).toEqual([])
})
