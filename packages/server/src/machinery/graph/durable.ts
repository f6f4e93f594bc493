import type { Failure } from './failure.ts'
import type { JsonRecord } from './json.ts'
import type { Answer, StepRecord, Suspension } from './records.ts'

/*
 * What a run needs of the engine that drives it. The run is a deterministic program over this port: after a crash
 * it starts anew, makes the same calls in the same order, and gets what was recorded.
 *
 * Promises made here belong to the engine. They are only ever awaited through `race`, one race at a time, because a
 * durable engine has to see which of several came first; an async function that awaits one in a branch of its own
 * would hide that from it.
 */
export interface Durable {
  /**
   * One attempt of one step. It always settles with an outcome: a rejection is a fault of the engine and ends the
   * handling, not the run. Retries, waiting for people and backing off are up to the caller.
   */
  start(call: StepCall): DurablePromise<StepOutcome>
  sleep(name: string, durationMs: number): DurablePromise<unknown>
  /** The time, as recorded when it was first asked. */
  now(name: string): DurablePromise<number>
  /** Settles once somebody has answered this suspension, with whatever `readAnswer` needs to find the answer. */
  answered(suspension: Suspension): DurablePromise<unknown>
  readAnswer(suspension: Suspension, answerId: unknown): DurablePromise<Answer>
  /** The first to settle. Rejects with RunCanceled once the run is canceled. */
  race(promises: readonly DurablePromise<unknown>[]): Promise<{ index: number; value: unknown }>
  /** A step's record changed. Costs nothing: the engine may write it with whatever it records next. */
  note(change: StepChange): void
  /** Everything that is still open waits for a person. Ends when that is written: only then may somebody answer. */
  suspended(): Promise<void>
}

/** Native to the engine; opaque here. */
export type DurablePromise<T> = PromiseLike<T>

export interface StepChange {
  readonly stepId: string
  /** Index in the graph, then in the container. */
  readonly position: readonly number[]
  readonly record: StepRecord
}

/** Which of its turns a step has: item of a foreach, iteration of a loop. */
export interface Turn {
  readonly index: number
  readonly iteration: number
  /** Nothing else runs beside it, so it need not be a call of its own. */
  readonly alone: boolean
}

export type StepTarget =
  | { readonly kind: 'tool'; readonly toolId: string; readonly isForAgents?: boolean }
  | { readonly kind: 'agent'; readonly slug: string; readonly outputSchema?: JsonRecord }

/** All that whoever performs the step needs; JSON. */
export interface StepCall extends Turn {
  readonly runId: string
  readonly stepId: string
  /** Counts retries, not what is repeated after a crash. */
  readonly attempt: number
  /** Whether a failure of this attempt is not the last word. */
  readonly mayRetry: boolean
  /** What a suspension of this attempt is called. */
  readonly questionKey: string
  /** `runId:stepId:index:iteration:attempt`, the same when the attempt is repeated after a crash. */
  readonly idempotencyKey: string
  readonly target: StepTarget
  readonly input: unknown
  /** What a person answered when the step had suspended. */
  readonly answer?: Answer
}

/** `at` is when it came about: outcomes are the only clock of a run. */
export type StepOutcome = { readonly at: number } & (
  | { readonly kind: 'success'; readonly output: unknown }
  | { readonly kind: 'failed'; readonly error: Failure }
  | { readonly kind: 'suspended'; readonly payload: unknown }
  | { readonly kind: 'canceled' }
)
