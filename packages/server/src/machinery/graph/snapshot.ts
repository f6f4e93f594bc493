import type { Workflow } from './compile.ts'
import type { JsonRecord } from './json.ts'
import { questionsOf, type StepRecord, type StepStatus, type Suspension } from './records.ts'

export type RunStatus = 'running' | 'suspended' | 'success' | 'failed' | 'canceled'

const ended: ReadonlySet<string> = new Set<RunStatus>(['success', 'failed', 'canceled'])

/** Whether nothing more happens in a run; its driver may know further states before these. */
export function hasRunEnded(status: string): boolean {
  return ended.has(status)
}

/** What the state of a run follows from in the record of a step; the rest of a record is only shown. */
export type StepFacts = Pick<StepRecord, 'status' | 'startedAt' | 'endedAt' | 'suspendedAt' | 'resumedAt'>

interface RunView {
  readonly status: RunStatus
  readonly launchedAt: number
  readonly steps: ReadonlyMap<string, StepFacts>
}

export interface RunState {
  readonly value: JsonRecord
  readonly activePaths: readonly number[]
  readonly suspendedPaths: Readonly<Record<string, readonly number[]>>
  readonly timestamp: number
}

/** Where a run stands, and which steps it got to, in the order of the graph. */
export function stateOf(
  workflow: Workflow,
  view: RunView,
): { readonly ran: readonly string[]; readonly state: RunState } {
  const { status, steps, launchedAt } = view
  const ran = workflow.entries
    .flatMap((entry) => entry.steps)
    .flatMap((step) => {
      const facts = steps.get(step.stepId)
      return facts ? [{ ...step, ...facts }] : []
    })
  const [latest] = ran.map(({ position }) => position[0] ?? 0).sort((a, b) => b - a)
  // A last entry that chose nothing has no records, but the run got there.
  const active = status === 'success' ? workflow.entries.length - 1 : latest
  const suspended = ran.filter((step) => step.status === 'suspended')
  const times = ran.flatMap(({ startedAt, suspendedAt = 0, resumedAt = 0, endedAt = 0 }) => [
    startedAt,
    suspendedAt,
    resumedAt,
    endedAt,
  ])
  return {
    ran: ran.map(({ stepId }) => stepId),
    state: {
      value: workflow.state,
      activePaths: active === undefined ? [] : [active],
      suspendedPaths: Object.fromEntries(suspended.map(({ stepId, position }) => [stepId, position])),
      timestamp: Math.max(launchedAt, ...times),
    },
  }
}

const outcomes = {
  success: ['output'],
  failed: ['error'],
  suspended: ['suspendPayload'],
  canceled: [],
  running: undefined,
  waiting: undefined,
} as const satisfies Record<StepStatus, readonly (keyof StepRecord)[] | undefined>

/** What of its record is what a step gave. Undefined for one that still runs or sleeps: it has nothing to show. */
export function outcomeFields(status: StepStatus): readonly string[] | undefined {
  return outcomes[status]
}

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
