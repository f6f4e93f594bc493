import { createHash } from 'node:crypto'
import type { StepCall, StepOutcome, StepTarget, Turn } from './durable.ts'
import { type Failure, isWorthRetrying, RunCanceled, RunFailed, stepError } from './failure.ts'
import {
  type Answer,
  answered,
  asking,
  hasFailed,
  type StepRecord,
  type StepResult,
  type Suspension,
  settled,
} from './records.ts'
import type { Run } from './run.ts'
import { drive, type Task, waitFor, waitForPerson } from './task.ts'

/** An entry that does one thing; compiled. */
export interface Step {
  readonly stepId: string
  /** Index in the graph, then in the container. */
  readonly position: readonly number[]
  /** What it calls, if that is a tool. */
  readonly toolId?: string
  /** Whether the definition itself lets agents answer what it asks. What flows never does: that could be their own words. */
  readonly isForAgents?: boolean
  /** Whom it asks, if that is an agent. */
  readonly agentSlug?: string
  perform(input: unknown, turn: Turn, run: Run): Task<StepResult>
}

/** An element of the graph, compiled. */
export interface Entry {
  readonly steps: readonly Step[]
  /** The output; throws RunFailed. */
  run(input: unknown, run: Run): Promise<unknown>
  /** The output that successful records of an earlier run amount to; undefined when they do not suffice. */
  restore(outputs: ReadonlyMap<string, unknown>): unknown
}

export function failed(run: Run, stepId: string, failure: Failure): StepResult {
  return { error: stepError(stepId, failure), endedAt: run.now() }
}

/** Performs a step under a record of its own. */
function* recorded(
  step: Step,
  input: unknown,
  turn: Turn,
  run: Run,
  extra?: Partial<StepRecord>,
): Task<StepResult> {
  const refused = run.begin(step, input, extra)
  const result = refused ? failed(run, step.stepId, refused) : yield* step.perform(input, turn, run)
  run.finish(step.stepId, result)
  return result
}

/** Runs steps side by side on one input, all to their end; then the first failure in declared order ends the run. */
export async function runBeside(
  steps: readonly Step[],
  input: unknown,
  run: Run,
  iteration = 0,
  extra?: Partial<StepRecord>,
): Promise<unknown[]> {
  const turn = { index: 0, iteration, alone: steps.length === 1 }
  const tasks = steps.map((step) => recorded(step, input, turn, run, extra))
  const results = await drive(run.durable, tasks, hasFailed)
  return outputsOf(results)
}

export function outputsOf(results: readonly (StepResult | undefined)[]): unknown[] {
  const bad = results.find((result) => result && hasFailed(result))
  if (bad?.error) throw new RunFailed(bad.error)
  return results.map((result) => (result && !hasFailed(result) ? result.output : undefined))
}

/** A single step as an element of the graph. */
export function single(step: Step): Entry {
  return {
    steps: [step],
    run: async (input, run) => (await runBeside([step], input, run))[0],
    restore: (outputs) => outputs.get(step.stepId),
  }
}

type Verdict =
  | { readonly kind: 'done'; readonly result: StepResult }
  | { readonly kind: 'asks'; readonly suspension: Suspension }
  | { readonly kind: 'retry' | 'canceled' }

function judge(call: StepCall, outcome: StepOutcome): Verdict {
  switch (outcome.kind) {
    case 'success':
      return { kind: 'done', result: { output: outcome.output ?? null, endedAt: outcome.at } }
    case 'failed': {
      const { code, message, details } = outcome.error
      if (call.mayRetry && isWorthRetrying(code)) return { kind: 'retry' }
      const all = call.attempt > 0 ? { ...details, attempts: call.attempt + 1 } : details
      const error = stepError(call.stepId, { code, message, ...(all && { details: all }) })
      return { kind: 'done', result: { error, endedAt: outcome.at } }
    }
    case 'suspended': {
      const { stepId, index, iteration, questionKey: key } = call
      const suspension = { stepId, index, iteration, key, payload: outcome.payload, suspendedAt: outcome.at }
      return { kind: 'asks', suspension }
    }
    case 'canceled':
      return { kind: 'canceled' }
  }
}

/**
 * The record of a step that is alone, after this outcome; undefined while the outcome settles nothing. For whoever
 * performs the step and wants to write the record in the same go, ahead of the run's own note of it.
 */
export function recordAfter(
  record: StepRecord,
  call: StepCall,
  outcome: StepOutcome,
): StepRecord | undefined {
  const verdict = judge(call, outcome)
  if (verdict.kind === 'done') return settled(record, verdict.result)
  return verdict.kind === 'asks' ? asking(record, verdict.suspension) : undefined
}

/** Calls a tool or an agent until it succeeds, has failed often enough, or the run is canceled. */
export function* callStep(
  stepId: string,
  target: StepTarget,
  retries: number,
  input: unknown,
  turn: Turn,
  run: Run,
): Task<StepResult> {
  const turnKey = `${stepId}:${turn.index}:${turn.iteration}`
  let answer: Answer | undefined
  let questions = 0
  for (let attempt = 0; ; ) {
    const call: StepCall = {
      ...turn,
      runId: run.launch.runId,
      stepId,
      attempt,
      mayRetry: attempt < retries,
      questionKey: questions === 0 ? turnKey : `${turnKey}:${questions}`,
      idempotencyKey: `${run.launch.runId}:${turnKey}:${attempt}`,
      target,
      input,
      ...(answer && { answer }),
    }
    const outcome = yield* waitFor(run.durable.start(call))
    run.passTime(outcome.at)
    const verdict = judge(call, outcome)
    if (verdict.kind === 'done') return admitted(stepId, verdict.result, run)
    if (verdict.kind === 'canceled') throw new RunCanceled()
    if (verdict.kind === 'asks') {
      answer = yield* ask(verdict.suspension, run)
      questions++
    } else {
      attempt++
      yield* waitFor(
        run.durable.sleep(`${turnKey}:retry:${attempt}`, backoffMs(attempt, call.idempotencyKey)),
      )
    }
  }
}

function admitted(stepId: string, result: StepResult, run: Run): StepResult {
  const refused = hasFailed(result) ? undefined : run.admit(stepId, result.output)
  return refused ? failed(run, stepId, refused) : result
}

function* ask(suspension: Suspension, run: Run): Task<Answer> {
  run.change(suspension.stepId, (record) => asking(record, suspension))
  const answerId = yield* waitForPerson(run.durable.answered(suspension))
  const answer = yield* waitFor(run.durable.readAnswer(suspension, answerId))
  run.passTime(answer.at)
  run.change(suspension.stepId, (record) => answered(record, suspension.key, answer))
  return answer
}

/** Doubles from a quarter of a second to ten; spread by a fifth, by the key and not by chance, to be the same in a replay. */
function backoffMs(retry: number, key: string): number {
  const spread = createHash('sha256').update(key).digest().readUInt32BE() / 2 ** 32
  return Math.round(Math.min(250 * 2 ** (retry - 1), 10_000) * (0.8 + 0.4 * spread))
}
