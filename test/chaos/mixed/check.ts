import { findMoneyViolations } from '../execution-history.ts'
import { findEffectViolations } from './check-effects.ts'
import { findExecutionViolations } from './check-executions.ts'
import { findKeyViolations } from './check-keys.ts'
import { findRunViolations } from './check-runs.ts'
import type { Seen } from './evidence.ts'
import type { FaultRecord, Operation } from './history.ts'

export interface MixedHistory {
  readonly operations: readonly Operation[]
  readonly faults: readonly FaultRecord[]
  /** The names of the kinds that were to be fired, once for each time. */
  readonly planned: readonly string[]
  readonly seen: Seen
}

/** How much and how soon, which is up to the machine as well. */
export interface Demands {
  readonly succeededShare: number
  readonly endedWithinMs: number
}

export const usualDemands: Demands = { succeededShare: 0.7, endedWithinMs: 60_000 }

/** Everything in a history that cannot have happened if nothing was lost, doubled, invented or left behind. */
export function findMixedViolations(history: MixedHistory, demands = usualDemands): string[] {
  const { operations, faults, seen } = history
  return [
    ...findFaultViolations(history),
    ...findLateEnds(history, demands),
    ...findEffectViolations(operations, seen.state),
    ...findExecutionViolations(operations, faults, seen),
    ...findRunViolations(operations, faults, seen),
    ...findKeyViolations(operations, faults, seen),
    ...findLedgerViolations(seen),
    ...findLeftOvers(seen),
    ...findShareViolations(operations, demands),
  ]
}

function findFaultViolations({ planned, faults }: MixedHistory): string[] {
  const fired = faults.map(({ kind }) => kind)
  const missing = planned.filter((kind) => {
    const at = fired.indexOf(kind)
    if (at !== -1) fired.splice(at, 1)
    return at === -1
  })
  return [
    ...missing.map((kind) => `the fault ${kind} was planned and never fired`),
    ...faults.flatMap(({ kind, note, recoveryMs }) =>
      Object.entries(recoveryMs)
        .filter(([, ms]) => ms === null)
        .map(([probe]) => `after ${kind} (${note}) no ${probe} succeeded for a minute`),
    ),
  ]
}

/** What the last fault found there has ended a minute later, unless it waited for a person in between. */
function findLateEnds({ faults, seen }: MixedHistory, { endedWithinMs }: Demands): string[] {
  const lastEnd = Math.max(...faults.map(({ endedAt }) => endedAt))
  const { executions, runs } = seen.state
  const things = [
    ...executions.map((one) => ({
      id: one.executionId,
      begunAt: one.startedAt ?? one.createdAt,
      endedAt: one.endedAt,
    })),
    ...runs
      .filter(({ slug }) => slug !== 'ask')
      .map((one) => ({ id: one.runId, begunAt: one.launchedAt, endedAt: one.endedAt })),
  ]
  return things
    .filter(({ begunAt }) => begunAt <= lastEnd)
    .map(({ id, endedAt }) => ({ id, afterMs: (endedAt ?? 0) - lastEnd }))
    .filter(({ afterMs }) => afterMs > endedWithinMs)
    .map(({ id, afterMs }) => `${id}: ended only ${Math.round(afterMs / 1000)} s after the last fault`)
}

function findLedgerViolations({ state }: Seen): string[] {
  const reserved = new Set(state.reservations.map(({ executionId }) => executionId))
  // What an agent of a workflow costs is known by its reservation alone, which its step's key names.
  const steps = state.reservations
    .filter(({ executionId }) => executionId.startsWith('run_'))
    .map(({ executionId, chargedMilliDs }) => ({ executionId, costMilliDs: chargedMilliDs ?? 0 }))
  return [
    ...findMoneyViolations({ ...state, executions: [...state.executions, ...steps] }),
    ...state.accounts
      .filter(({ available, reserved: held, spent }) => Math.min(available, held, spent) < 0)
      .map(({ userId }) => `${userId} has an account below zero`),
    ...state.executions
      .filter(({ executionId, startedAt }) => startedAt !== null && !reserved.has(executionId))
      .map(({ executionId }) => `${executionId}: started, and nothing was ever set aside for it`),
  ]
}

function findLeftOvers({ orphans, driven, lostContent }: Seen): string[] {
  return [...orphans, ...lostContent, ...driven]
}

function findShareViolations(operations: readonly Operation[], { succeededShare }: Demands): string[] {
  const share = shareOf(operations)
  const percent = (value: number) => `${(value * 100).toFixed(1)} %`
  return share >= succeededShare
    ? []
    : [`only ${percent(share)} of the operations succeeded, and not ${percent(succeededShare)}`]
}

export function shareOf(operations: readonly Operation[]): number {
  return operations.filter(({ succeeded }) => succeeded).length / Math.max(1, operations.length)
}
