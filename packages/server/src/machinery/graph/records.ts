import type { RunError } from './failure.ts'

export type StepStatus = 'running' | 'waiting' | 'success' | 'failed' | 'suspended' | 'canceled'

/** A question to a person that keeps a step waiting. */
export interface Suspension {
  readonly stepId: string
  readonly index: number
  readonly iteration: number
  /** Names the durable promise: `stepId:index:iteration`, and a number from the second question of a turn on. */
  readonly key: string
  readonly payload: unknown
  readonly suspendedAt: number
}

/** What a person said to it, and when. */
export interface Answer {
  readonly data: unknown
  readonly at: number
}

/** Times are epoch milliseconds. A foreach body has one record for all its items. */
export interface StepRecord {
  readonly status: StepStatus
  readonly payload: unknown
  readonly startedAt: number
  readonly endedAt?: number
  readonly output?: unknown
  readonly error?: RunError
  readonly suspendPayload?: unknown
  readonly suspendedAt?: number
  readonly resumePayload?: unknown
  readonly resumedAt?: number
  readonly metadata?: StepMetadata
}

interface StepMetadata {
  readonly iterationCount?: number
  readonly dueAt?: number
  /** Open questions, by index. */
  readonly waiting?: readonly Suspension[]
}

export type StepResult = { readonly endedAt: number } & (
  | { readonly output: unknown; readonly error?: undefined }
  | { readonly error: RunError }
)

export function hasFailed(result: StepResult): result is StepResult & { readonly error: RunError } {
  return result.error !== undefined
}

/** The record once the step has ended. */
export function settled(record: StepRecord, result: StepResult): StepRecord {
  const { suspendPayload: _payload, suspendedAt: _at, metadata, ...rest } = record
  const { waiting: _waiting, ...kept } = metadata ?? {}
  return {
    ...rest,
    ...(hasFailed(result)
      ? { status: 'failed', error: result.error }
      : { status: 'success', output: result.output }),
    endedAt: result.endedAt,
    ...(Object.keys(kept).length > 0 && { metadata: kept }),
  }
}

/** What the step asks people now. */
export function questionsOf({ metadata }: StepRecord): readonly Suspension[] {
  return metadata?.waiting ?? []
}

/** The record while the step waits for a person. */
export function asking(record: StepRecord, suspension: Suspension): StepRecord {
  const waiting = [...questionsOf(record), suspension].sort((a, b) => a.index - b.index)
  return withQuestions(record, waiting)
}

/** The record after an answer; other items of a foreach may still wait. */
export function answered(record: StepRecord, key: string, answer: Answer): StepRecord {
  const waiting = questionsOf(record).filter((suspension) => suspension.key !== key)
  return { ...withQuestions(record, waiting), resumePayload: answer.data, resumedAt: answer.at }
}

function withQuestions(record: StepRecord, waiting: readonly Suspension[]): StepRecord {
  const { suspendPayload: _payload, suspendedAt: _at, metadata, ...rest } = record
  const { waiting: _waiting, ...kept } = metadata ?? {}
  const [first] = waiting
  return {
    ...rest,
    ...(first
      ? { status: 'suspended', suspendPayload: first.payload, suspendedAt: first.suspendedAt }
      : { status: 'running' }),
    ...((first || Object.keys(kept).length > 0) && { metadata: { ...kept, ...(first && { waiting }) } }),
  }
}

const open: ReadonlySet<StepStatus> = new Set(['running', 'waiting', 'suspended'])

/**
 * What a run leaves open when it ends reads as canceled: nobody is asked any more. Undefined for what had ended. Whoever
 * ends the run may have another clock than the step had.
 */
export function abandoned(record: StepRecord, at: number): StepRecord | undefined {
  if (!open.has(record.status)) return undefined
  const { status: _status, ...rest } = withQuestions(record, [])
  return { ...rest, status: 'canceled', endedAt: Math.max(record.startedAt, at) }
}
