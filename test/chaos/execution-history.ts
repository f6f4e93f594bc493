import { eventOf } from '../support/executions.ts'

/** What became of an execution, as told by its row, by its readers, and by who watched the processes. */
export interface ExecutionRecord {
  readonly executionId: string
  /** Whether its start was answered 200. */
  readonly accepted: boolean
  readonly status: string
  readonly errorCode: string | null
  readonly costMilliDs: number
  readonly workerKilled: boolean
  /** How long it was seen working while no living worker had it, without a break. */
  readonly longestUnheldMs: number
  /** The events as each reader got them, byte for byte. */
  readonly readings: readonly Reading[]
}

export interface Reading {
  readonly reader: string
  readonly frames: readonly string[]
  readonly cuts: number
}

export interface Entry {
  readonly userId: string
  readonly source: string
  readonly target: string
  readonly amountMilliDs: number
  readonly executionId: string | null
}

export interface Account {
  readonly userId: string
  readonly available: number
  readonly reserved: number
  readonly spent: number
}

export interface Reservation {
  readonly executionId: string
  readonly amountMilliDs: number
  /** Null while it is open. */
  readonly chargedMilliDs: number | null
}

export interface Money {
  readonly executions: readonly Pick<ExecutionRecord, 'executionId' | 'costMilliDs'>[]
  readonly entries: readonly Entry[]
  readonly accounts: readonly Account[]
  readonly reservations: readonly Reservation[]
}

export interface History extends Money {
  readonly executions: readonly ExecutionRecord[]
}

export interface Demands {
  readonly readings: number
  /** How often one of the readers of each execution must have been cut. */
  readonly cuts: number
  readonly unheldMs: number
}

const lastType = 'session.status_idle'

/** Everything in a history that cannot have happened if nothing was lost, doubled or left behind. */
export function findViolations(history: History, demands: Demands): string[] {
  return [
    ...history.executions.flatMap((record) =>
      [
        ...findEndViolations(record),
        ...findLogViolations(record),
        ...findReadingViolations(record, demands),
        ...findHoldViolations(record, demands),
      ].map((violation) => `${record.executionId}: ${violation}`),
    ),
    ...findMoneyViolations(history),
  ]
}

function findEndViolations({ status, errorCode, accepted, workerKilled }: ExecutionRecord): string[] {
  if (status === 'completed') return []
  if (status !== 'failed') return [`is still ${status}`]
  const isExcused = !accepted || (workerKilled && errorCode === 'SANDBOX_LOST')
  return isExcused
    ? []
    : [`failed with ${errorCode} although its worker was ${workerKilled ? '' : 'not '}killed`]
}

function findLogViolations({ readings, status }: ExecutionRecord): string[] {
  const events = (readings[0]?.frames ?? []).map(eventOf)
  const violations: string[] = []
  const gap = events.findIndex(({ sequence }, index) => sequence !== index + 1)
  if (gap !== -1) violations.push(`event ${gap + 1} has the number ${events[gap]?.sequence}`)
  const ends = events.filter(({ type }) => type === lastType)
  if (ends.length !== 1) violations.push(`${ends.length} events say that it ended`)
  const last = events.at(-1)
  if (last?.type !== lastType) violations.push(`the last event is ${last?.type}`)
  const reason = (ends[0]?.payload['stop_reason'] as { type?: string } | undefined)?.type
  if (ends.length > 0 && (reason === 'end_turn') !== (status === 'completed')) {
    violations.push(`the log ends with ${reason} and the row with ${status}`)
  }
  return violations
}

function findReadingViolations({ readings }: ExecutionRecord, demands: Demands): string[] {
  const violations: string[] = []
  if (readings.length < demands.readings) violations.push(`was read ${readings.length} times`)
  const cuts = Math.max(0, ...readings.map((reading) => reading.cuts))
  if (cuts < demands.cuts) violations.push(`no reader was cut more than ${cuts} times`)
  return [...violations, ...findDifferences(readings)]
}

/** Whoever reads a log is told the same, byte for byte. */
export function findDifferences([first, ...others]: readonly Reading[]): string[] {
  const violations: string[] = []
  for (const { reader, frames } of others) {
    const differing = frames.findIndex((frame, index) => frame !== first?.frames[index])
    if (differing !== -1)
      violations.push(`${reader} saw another event ${differing + 1} than ${first?.reader}`)
    else if (frames.length !== first?.frames.length) {
      violations.push(`${reader} saw ${frames.length} events and ${first?.reader} ${first?.frames.length}`)
    }
  }
  return violations
}

function findHoldViolations({ longestUnheldMs }: ExecutionRecord, { unheldMs }: Demands): string[] {
  return longestUnheldMs > unheldMs ? [`worked for ${longestUnheldMs} ms without a living worker`] : []
}

/** When nothing works any more. */
export function findMoneyViolations(history: Money): string[] {
  return [...findAccountViolations(history), ...findReservationViolations(history)]
}

/** Each entry takes from one side what it gives to another; what an account holds must be what its entries add up to. */
function findAccountViolations({ entries, accounts }: Money): string[] {
  const violations: string[] = []
  let total = 0
  for (const { userId, available, reserved, spent } of accounts) {
    const own = entries.filter((entry) => entry.userId === userId)
    const sums = { available: 0, reserved: 0, spent: 0, issued: 0 }
    for (const { source, target, amountMilliDs } of own) {
      sums[source as keyof typeof sums] -= amountMilliDs
      sums[target as keyof typeof sums] += amountMilliDs
    }
    total += sums.issued + available + reserved + spent
    const held = { available, reserved, spent }
    for (const side of ['available', 'reserved', 'spent'] as const) {
      if (held[side] !== sums[side]) {
        violations.push(`${userId} has ${held[side]} ${side} and entries for ${sums[side]}`)
      }
    }
    if (reserved !== 0) violations.push(`${userId} still has ${reserved} reserved`)
  }
  return total === 0 ? violations : [...violations, `the ledger sums to ${total}`]
}

function findReservationViolations({ reservations, executions, entries }: Money): string[] {
  const costs = new Map(executions.map(({ executionId, costMilliDs }) => [executionId, costMilliDs]))
  return reservations.flatMap(({ executionId, amountMilliDs, chargedMilliDs }) => {
    if (chargedMilliDs === null) return [`${executionId}: its reservation is open`]
    const violations: string[] = []
    const due = Math.min(costs.get(executionId) ?? 0, amountMilliDs)
    if (chargedMilliDs !== due) violations.push(`${executionId}: charged ${chargedMilliDs} instead of ${due}`)
    const own = entries.filter((entry) => entry.executionId === executionId)
    const moved = (to: string) =>
      own.filter(({ target }) => target === to).reduce((sum, entry) => sum + entry.amountMilliDs, 0)
    if (moved('reserved') !== amountMilliDs || moved('spent') !== chargedMilliDs) {
      violations.push(
        `${executionId}: its entries set aside ${moved('reserved')} and charge ${moved('spent')}`,
      )
    }
    if (moved('available') !== amountMilliDs - chargedMilliDs) {
      violations.push(`${executionId}: ${moved('available')} was given back`)
    }
    return violations
  })
}
