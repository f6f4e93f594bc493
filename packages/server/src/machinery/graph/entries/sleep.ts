import type { Failure } from '../failure.ts'
import { anything } from '../flow.ts'
import { type JsonRecord, joinPath, own } from '../json.ts'
import { definitionLimits } from '../limits.ts'
import { checkFields, type EntryType, type Place, type Reading } from '../reading.ts'
import type { Run } from '../run.ts'
import { failed, type Step } from '../step.ts'
import { type Task, waitFor } from '../task.ts'

const { sleepMs } = definitionLimits

/** How long to sleep, or why not at all. */
type Nap = (stepId: string, run: Run) => Task<number | Failure>

/** Waits for a time; what comes in goes out. */
export const sleep: EntryType = {
  kind: 'step',
  read: (raw, place, reading, input) => {
    const nap = readNap(raw, place, reading, 'duration', (duration): Nap | undefined => {
      if (typeof duration === 'number' && duration >= 0 && duration <= sleepMs)
        // biome-ignore lint/correctness/useYield: a length that is written down needs no waiting
        return function* () {
          return duration
        }
      reading.add(
        'invalid-duration',
        joinPath(place.path, 'duration'),
        `duration is a number of milliseconds from 0 to ${sleepMs}.`,
      )
    })
    return { ...nap, output: input ?? anything }
  },
}

/** Waits for a date; one that is past is not waited for. */
export const sleepUntil: EntryType = {
  kind: 'step',
  read: (raw, place, reading, input) => {
    const nap = readNap(raw, place, reading, 'date', (date): Nap | undefined => {
      const due = typeof date === 'string' ? parseDate(date) : undefined
      if (due !== undefined) return (stepId, run) => untilDate(due, stepId, run)
      reading.add(
        'invalid-date',
        joinPath(place.path, 'date'),
        'date is an ISO 8601 date, with or without a time, such as 2030-01-31T08:00:00Z.',
      )
    })
    return { ...nap, output: input ?? anything }
  },
}

function readNap(
  raw: JsonRecord,
  place: Place,
  reading: Reading,
  field: 'duration' | 'date',
  read: (value: unknown) => Nap | undefined,
): { step?: Step } {
  const stepId = reading.claimId(raw, place)
  const fine = checkFields(raw, place.path, { type: 'text', id: 'any?', [field]: 'any' }, reading.add)
  const value = own(raw, field)
  const nap = value === undefined ? undefined : read(value)
  return fine && stepId && nap ? { step: sleepStep(stepId, place.position, nap) } : {}
}

function sleepStep(stepId: string, position: readonly number[], nap: Nap): Step {
  return {
    stepId,
    position,
    perform: function* (input, { index, iteration }, run) {
      const length = yield* nap(`${stepId}:${index}:${iteration}`, run)
      if (typeof length !== 'number') return failed(run, stepId, length)
      const dueAt = run.now() + length
      run.change(stepId, (record) => ({
        ...record,
        status: 'waiting',
        metadata: { ...record.metadata, dueAt },
      }))
      yield* waitFor(run.durable.sleep(`${stepId}:${index}:${iteration}`, length))
      run.passTime(dueAt)
      return { output: input, endedAt: run.now() }
    },
  }
}

function* untilDate(due: number, name: string, run: Run): Task<number | Failure> {
  const now = yield* waitFor(run.durable.now(name))
  run.passTime(now)
  if (due - now <= sleepMs) return Math.max(0, due - now)
  return { code: 'STEP_INPUT_INVALID', message: `The date is more than ${sleepMs} ms ahead.` }
}

const isoDate =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?([Zz]|[+-]\d{2}(?::?\d{2})?)?)?$/

/** Epoch milliseconds. A date without a zone is in UTC; a day that the calendar does not have is refused. */
function parseDate(text: string): number | undefined {
  const match = isoDate.exec(text)
  if (!match) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0))
  const fraction = Math.floor(Number(`0.${match[7] ?? 0}`) * 1000)
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  const isOnCalendar = date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  if (!isOnCalendar || hour > 23 || minute > 59 || second > 59) return undefined
  const zone = /^([+-])(\d{2}):?(\d{2})?$/.exec(match[8] ?? '')
  const offsetMinutes = zone ? Number(`${zone[1]}1`) * (Number(zone[2]) * 60 + Number(zone[3] ?? 0)) : 0
  return date.setUTCHours(hour, minute, second, fraction) - offsetMinutes * 60_000
}
