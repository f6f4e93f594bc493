import type { Workflow } from './compile.ts'
import type { RunError } from './failure.ts'
import type { JsonRecord } from './json.ts'
import { questionsOf, type StepRecord, type StepStatus, type Suspension } from './records.ts'

export type RunStatus = 'running' | 'suspended' | 'success' | 'failed' | 'canceled'

const ended: ReadonlySet<string> = new Set<RunStatus>(['success', 'failed', 'canceled'])

/** Whether nothing more happens in a run; its driver may know further states before these. */
export function hasRunEnded(status: string): boolean {
  return ended.has(status)
}

/** A run as it is shown; everything but status and end follows from the records of its steps. */
export interface RunView {
  readonly status: RunStatus
  readonly inputs: unknown
  readonly launchedAt: number
  readonly records: ReadonlyMap<string, StepRecord>
  readonly result?: unknown
  readonly error?: RunError
}

export interface Snapshot {
  readonly status: RunStatus
  readonly result?: unknown
  readonly error?: RunError
  readonly context: JsonRecord
  readonly value: JsonRecord
  readonly activePaths: readonly number[]
  readonly suspendedPaths: Readonly<Record<string, readonly number[]>>
  readonly timestamp: number
}

export function snapshotOf(workflow: Workflow, view: RunView): Snapshot {
  const { status, inputs, records, launchedAt } = view
  const steps = workflow.entries.flatMap((entry) => entry.steps)
  const ran = steps.flatMap((step) => {
    const record = records.get(step.stepId)
    return record ? [{ ...step, record }] : []
  })
  const [latest] = ran.map(({ position }) => position[0] ?? 0).sort((a, b) => b - a)
  // A last entry that chose nothing has no records, but the run got there.
  const active = status === 'success' ? workflow.entries.length - 1 : latest
  const suspended = ran.filter(({ record }) => record.status === 'suspended')
  const times = ran.flatMap(({ record }) => [
    record.startedAt,
    record.suspendedAt ?? 0,
    record.resumedAt ?? 0,
    record.endedAt ?? 0,
  ])
  return {
    status,
    ...(status === 'success' && { result: view.result }),
    ...(status === 'failed' && view.error && { error: view.error }),
    context: Object.fromEntries([['input', inputs], ...ran.map(({ stepId, record }) => [stepId, record])]),
    value: workflow.state,
    activePaths: active === undefined ? [] : [active],
    suspendedPaths: Object.fromEntries(suspended.map(({ stepId, position }) => [stepId, position])),
    timestamp: Math.max(launchedAt, ...times),
  }
}

/** Settled steps only: what still runs or sleeps has nothing to show. */
export function stepsOf(records: ReadonlyMap<string, StepRecord>): Record<string, JsonRecord> {
  const shown = [...records].filter(([, { status }]) => !unsettled.has(status))
  return Object.fromEntries(
    shown.map(([stepId, { status, output, error, suspendPayload }]) => [
      stepId,
      {
        status,
        ...(status === 'success' && { output }),
        ...(status === 'failed' && { error }),
        ...(status === 'suspended' && { suspendPayload }),
      },
    ]),
  )
}

const unsettled: ReadonlySet<StepStatus> = new Set(['running', 'waiting'])

/** What a person may answer, in the order of the graph. */
export function suspensionsOf(workflow: Workflow, records: ReadonlyMap<string, StepRecord>): Suspension[] {
  return workflow.entries
    .flatMap(({ steps }) => steps)
    .flatMap(({ stepId }) => {
      const record = records.get(stepId)
      return record ? questionsOf(record) : []
    })
}

/**
 * Which suspension a resume means: the only step that waits when none is named; in a foreach a bare id means its
 * lowest item and `id.3` a certain one. Undefined when it fits none, or several.
 */
export function findSuspension(suspensions: readonly Suspension[], address?: string): Suspension | undefined {
  const sameStep = (one: Suspension) => one.stepId === suspensions[0]?.stepId
  if (address === undefined) return suspensions.every(sameStep) ? suspensions[0] : undefined
  return suspensions.find(({ stepId, index }) => stepId === address || `${stepId}.${index}` === address)
}
