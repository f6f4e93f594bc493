import { eventOf } from '../../support/executions.ts'
import { findDifferences } from '../execution-history.ts'
import type { ExecutionState, Seen } from './evidence.ts'
import { type FaultRecord, isSuccess, type Operation } from './history.ts'

const lastType = 'session.status_idle'
/** A worker that is away for less keeps what it has. */
const leaseMs = 20_000
/** A lapsed lease is noticed by a look once a second, which may itself be late. */
const noticedMs = 30_000

export function findExecutionViolations(
  operations: readonly Operation[],
  faults: readonly FaultRecord[],
  { state, readings }: Seen,
): string[] {
  const about = (sort: Operation['sort']) =>
    new Set(operations.filter((one) => one.sort === sort).map(({ target }) => target))
  const accepted = new Set(operations.flatMap(acceptedBy))
  const canceled = about('cancel')
  const stoppedRuns = new Set([...about('cancel-run'), ...about('unqueue')])
  const revokedKeys = about('revoke-key')
  const isStopped = ({ executionId, runId, keyId }: ExecutionState) =>
    canceled.has(executionId) || (runId !== null && stoppedRuns.has(runId)) || revokedKeys.has(String(keyId))
  return [
    ...state.executions.flatMap((execution) => {
      const { executionId } = execution
      const log = state.logs.get(executionId) ?? []
      return [
        ...findEndViolations(execution, accepted.has(executionId)),
        ...findFailureViolations(
          execution,
          { wasAccepted: accepted.has(executionId), isStopped: isStopped(execution) },
          faults,
        ),
        ...findLogViolations(execution, log),
        ...findReadingViolations(log, readings.get(executionId) ?? []),
      ].map((violation) => `${executionId}: ${violation}`)
    }),
    ...findSlotViolations(state),
    ...findStateViolations(operations),
  ]
}

/** The execution that an operation was told is started. */
function acceptedBy({ sort, target, attempts }: Operation): (string | null)[] {
  const yes = attempts.filter(isSuccess)
  if (sort === 'post') return yes.length > 0 ? [target] : []
  return sort === 'start' || sort === 'rerun' ? yes.map(({ told }) => told) : []
}

function hasEnded({ status }: Pick<ExecutionState, 'status'>): boolean {
  return status === 'completed' || status === 'failed'
}

function findEndViolations(execution: ExecutionState, wasAccepted: boolean): string[] {
  const { status, queued } = execution
  if (hasEnded(execution)) return []
  if (status === 'idle' && !queued && !wasAccepted) return []
  return [`is still ${queued ? 'queued' : status}`]
}

/** An accepted execution fails by what was done to it, and by nothing else. */
function findFailureViolations(
  execution: ExecutionState,
  { wasAccepted, isStopped }: { wasAccepted: boolean; isStopped: boolean },
  faults: readonly FaultRecord[],
): string[] {
  const { status, stopReason, errorCode, executionId, workerPid, startedAt, endedAt, costMilliDs } = execution
  if (status !== 'failed') return []
  // Refused at its start, as whoever asked was told.
  const isRefused = errorCode === 'EXECUTION_FAILED' && costMilliDs === 0
  if (isRefused && !wasAccepted && execution.runId === null) return []
  const during = faults.filter(
    (fault) => fault.startedAt <= (endedAt ?? 0) && fault.endedAt + noticedMs >= (startedAt ?? 0),
  )
  const takesWorker = (fault: FaultRecord) =>
    fault.pids.includes(workerPid) &&
    (/kill/.test(kindsOf(fault)) || fault.endedAt - fault.startedAt >= leaseMs)
  const isExcused =
    stopReason === 'interrupt'
      ? isStopped
      : errorCode === 'SANDBOX_LOST'
        ? during.some((fault) => fault.executionIds.includes(executionId) || takesWorker(fault))
        : errorCode === 'STORAGE_UNAVAILABLE'
          ? during.some((fault) => kindsOf(fault).includes('storage-full'))
          : errorCode === 'ACCESS_ENDED' && isStopped
  const shown = during.filter((fault) => fault.endedAt >= (startedAt ?? 0)).map((fault) => kindsOf(fault))
  const met = shown.join(', ') || 'no fault'
  return isExcused ? [] : [`failed with ${errorCode ?? stopReason}, and what it met was ${met}`]
}

/** Of two at once, the note names both. */
function kindsOf({ kind, note }: FaultRecord): string {
  return kind === 'two-at-once' ? note : kind
}

function findLogViolations(
  execution: ExecutionState,
  log: readonly { sequence: number; type: string }[],
): string[] {
  const violations: string[] = []
  const gap = log.findIndex(({ sequence }, index) => sequence !== index + 1)
  if (gap !== -1) violations.push(`event ${gap + 1} has the number ${log[gap]?.sequence}`)
  const ends = log.filter(({ type }) => type === lastType).length
  if (ends !== (hasEnded(execution) ? 1 : 0)) violations.push(`${ends} events say that it ended`)
  if (ends > 0 && log.at(-1)?.type !== lastType) violations.push(`the last event is ${log.at(-1)?.type}`)
  return violations
}

function findReadingViolations(
  log: readonly { sequence: number; type: string }[],
  readings: Parameters<typeof findDifferences>[0],
): string[] {
  const [first] = readings
  if (!first) return []
  const read = first.frames.map(eventOf).map(({ sequence, type }) => `${sequence} ${type}`)
  const kept = log.map(({ sequence, type }) => `${sequence} ${type}`)
  const isSame = read.length === kept.length && read.every((event, index) => event === kept[index])
  return [
    ...(isSame ? [] : [`${first.reader} was told ${read.length} events, and ${kept.length} are kept`]),
    ...findDifferences(readings),
  ]
}

function findSlotViolations({ slots, executions }: Seen['state']): string[] {
  const states = new Map(executions.map(({ executionId, status }) => [executionId, status]))
  const holders = new Set(slots.map(({ executionId }) => executionId))
  return [
    ...slots
      .filter(({ executionId }) => states.get(executionId ?? '') !== 'working')
      .map(
        ({ workspaceId, executionId }) =>
          `the slot of ${workspaceId} is held by ${executionId}, which does not work`,
      ),
    ...executions
      .filter(({ executionId, status }) => status === 'working' && !holders.has(executionId))
      .map(({ executionId }) => `${executionId}: works without a slot`),
  ]
}

const endStates = ['completed', 'failed', 'success', 'canceled']

/** What has ended stays as it ended, whoever is asked. */
function findStateViolations(operations: readonly Operation[]): string[] {
  const reads = operations
    .filter(({ sort, target }) => sort === 'read' && target !== null)
    .flatMap(({ target, attempts }) => attempts.filter(isSuccess).map((one) => ({ target, ...one })))
    .toSorted((a, b) => a.answeredAt - b.answeredAt)
  const ends = new Map<string | null, { told: string | null; answeredAt: number }>()
  return reads.flatMap(({ target, told, sentAt, answeredAt }) => {
    const end = ends.get(target)
    if (end && sentAt > end.answeredAt && told !== end.told)
      return [`${target}: was seen ${end.told} and later ${told}`]
    if (!end && endStates.includes(told ?? '')) ends.set(target, { told, answeredAt })
    return []
  })
}
