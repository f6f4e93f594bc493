import { expect, test } from 'vitest'
import { type ExecutionRecord, findViolations, type History } from './execution-history.ts'

const demands = { readings: 3, cuts: 20, unheldMs: 60_000 }

function frame(sequence: number, type: string, payload: unknown = {}): string {
  return `id: ${sequence}\ndata: ${JSON.stringify({ id: `evt_1_${sequence}`, type, sequence, payload })}`
}

const idle = (sequence: number, type: string) =>
  frame(sequence, 'session.status_idle', { stop_reason: { type } })
const good = [frame(1, 'user.message'), frame(2, 'session.status_running'), idle(3, 'end_turn')]
const lost = [...good.slice(0, 2), idle(3, 'error')]

function readings(...logs: string[][]) {
  return logs.map((frames, index) => ({ reader: `reader ${index + 1}`, frames, cuts: index === 2 ? 20 : 0 }))
}

function record(changes: Partial<ExecutionRecord> = {}): ExecutionRecord {
  return {
    executionId: 'exec_1',
    accepted: true,
    status: 'completed',
    errorCode: null,
    costMilliDs: 30,
    workerKilled: false,
    longestUnheldMs: 21_000,
    readings: readings(good, good, good),
    ...changes,
  }
}

const moves: [string, string, number][] = [
  ['issued', 'available', 1000],
  ['available', 'reserved', 500],
  ['reserved', 'spent', 30],
  ['reserved', 'available', 470],
]

function history(changes: Partial<History> = {}, execution: Partial<ExecutionRecord> = {}): History {
  return {
    executions: [record(execution)],
    entries: moves.map(([source, target, amountMilliDs]) => ({
      userId: 'ada',
      source,
      target,
      amountMilliDs,
      executionId: source === 'issued' ? null : 'exec_1',
    })),
    accounts: [{ userId: 'ada', available: 970, reserved: 0, spent: 30 }],
    reservations: [{ executionId: 'exec_1', amountMilliDs: 500, chargedMilliDs: 30 }],
    ...changes,
  }
}

test('what can have happened is left alone', () => {
  expect(findViolations(history(), demands)).toEqual([])
  const killed = { status: 'failed', errorCode: 'SANDBOX_LOST', workerKilled: true }
  expect(findViolations(history({}, { ...killed, readings: readings(lost, lost, lost) }), demands)).toEqual(
    [],
  )
  const refused = { status: 'failed', errorCode: 'EXECUTION_FAILED', accepted: false }
  expect(findViolations(history({}, { ...refused, readings: readings(lost, lost, lost) }), demands)).toEqual(
    [],
  )
})

const all = (frames: string[]): Partial<ExecutionRecord> => ({ readings: readings(frames, frames, frames) })
const failed = { status: 'failed', ...all(lost) }

test.each<[string, Partial<ExecutionRecord>, RegExp]>([
  ['never ends', { status: 'working' }, /still working/],
  ['fails for no reason', { ...failed, errorCode: 'SANDBOX_LOST' }, /was not killed/],
  [
    'fails otherwise than by the kill',
    { ...failed, errorCode: 'MODEL_FAILED', workerKilled: true },
    /MODEL_FAILED/,
  ],
  ['ends twice', all([...good, idle(4, 'end_turn')]), /2 events say/],
  ['never says that it ended', all(good.slice(0, 2)), /0 events say/],
  ['says something after its end', all([...good, frame(4, 'agent.message')]), /last event is agent.message/],
  ['has a gap', all([good[0] ?? '', idle(3, 'end_turn')]), /event 2 has the number 3/],
  ['has an event twice', all([good[0] ?? '', ...good]), /event 2 has the number 1/],
  [
    'says one thing in the log and another in the row',
    all(lost),
    /ends with error and the row with completed/,
  ],
  ['shows a reader less', { readings: readings(good, good.slice(0, 2), good) }, /reader 2 saw 2 events/],
  [
    'shows a reader more',
    { readings: readings(good, good, [...good, frame(4, 'agent.info')]) },
    /another event 4/,
  ],
  ['shows a reader other bytes', { readings: readings(good, good, lost) }, /reader 3 saw another event 3/],
  ['was read too little', { readings: readings(good, good) }, /was read 2 times/],
  [
    'was not cut often enough',
    { readings: readings(good, good, good).map((one) => ({ ...one, cuts: 3 })) },
    /3 times/,
  ],
  ['was nobody’s for too long', { longestUnheldMs: 60_001 }, /without a living worker/],
  ['cost other than was charged', { costMilliDs: 31 }, /charged 30 instead of 31/],
])('an execution that %s is found', (_what, changes, violation) => {
  expect(findViolations(history({}, changes), demands).join('\n')).toMatch(violation)
})

const { entries } = history()
test.each<[string, Partial<History>, RegExp]>([
  [
    'credits out of nothing',
    { accounts: [{ userId: 'ada', available: 971, reserved: 0, spent: 30 }] },
    /sums to 1/,
  ],
  ['a lost entry', { entries: entries.slice(0, 3) }, /has 0 reserved and entries for 470/],
  ['an entry twice', { entries: [...entries, ...entries.slice(2, 3)] }, /charge 60/],
  [
    'credits that stay set aside',
    { entries: entries.slice(0, 2), accounts: [{ userId: 'ada', available: 500, reserved: 500, spent: 0 }] },
    /still has 500 reserved/,
  ],
  [
    'an open reservation',
    { reservations: [{ executionId: 'exec_1', amountMilliDs: 500, chargedMilliDs: null }] },
    /reservation is open/,
  ],
])('%s is found', (_what, changes, violation) => {
  expect(findViolations(history(changes), demands).join('\n')).toMatch(violation)
})
