import type { Durable, StepChange } from './durable.ts'
import type { Failure } from './failure.ts'
import { jsonBytes } from './json.ts'
import type { RunLimits } from './limits.ts'
import { abandoned, hasFailed, type StepRecord, type StepResult, settled } from './records.ts'
import type { RequestContext, Scope } from './reference.ts'

/** What is fixed when a run is launched. */
export interface Launch {
  readonly runId: string
  readonly inputs: unknown
  readonly launchedAt: number
  readonly requestContext: RequestContext
  readonly limits: RunLimits
}

type StepPlace = Pick<StepChange, 'stepId' | 'position'>

/**
 * What a run knows while it goes on: the records of its steps and their outputs. It lives in the memory of its
 * driver and is made again, the same, when that driver is lost. Its clock is the latest outcome it has heard of.
 */
export interface Run {
  readonly launch: Launch
  readonly durable: Durable
  readonly records: ReadonlyMap<string, StepRecord>
  now(): number
  passTime(at: number): void
  scope(inputData: unknown): Scope
  /** Opens the record of a step; a failure is returned when the run has grown too large for it. */
  begin(place: StepPlace, payload: unknown, extra?: Partial<StepRecord>): Failure | undefined
  change(stepId: string, update: (record: StepRecord) => StepRecord): void
  /** Counts an output against the limits of the step and the run. */
  admit(stepId: string, output: unknown): Failure | undefined
  finish(stepId: string, result: StepResult): void
  /** Takes over what a step did in an earlier run. */
  reuse(place: StepPlace, record: StepRecord): void
  abandonOpen(): void
}

function tooLarge(what: string): Failure {
  return { code: 'RUN_TOO_LARGE', message: `${what} bytes.` }
}

export function createRun(launch: Launch, state: unknown, durable: Durable): Run {
  const records = new Map<string, StepRecord>()
  const places = new Map<string, StepPlace>()
  const outputs = new Map<string, unknown>()
  const sizes = new Map<string, number>()
  const { limits, requestContext } = launch
  let clock = launch.launchedAt
  let runBytes = 0
  let journalBytes = 0

  const write = (stepId: string, record: StepRecord) => {
    records.set(stepId, record)
    const place = places.get(stepId)
    if (place) durable.note({ ...place, record })
  }
  /** The snapshot holds what a step got and what it gave; a loop's body counts with its latest turn. */
  const count = (stepId: string, bytes: number, isFirst: boolean): Failure | undefined => {
    const before = sizes.get(stepId) ?? 0
    const after = isFirst ? bytes : before + bytes
    runBytes += after - before
    sizes.set(stepId, after)
    return runBytes <= limits.runBytes
      ? undefined
      : tooLarge(`The data of the run is over ${limits.runBytes}`)
  }
  return {
    launch,
    durable,
    records,
    now: () => clock,
    passTime: (at) => {
      clock = Math.max(clock, at)
    },
    scope: (inputData) => ({
      initData: launch.inputs,
      inputData,
      state,
      outputOf: (stepId) => outputs.get(stepId),
      requestValue: (key) =>
        Object.hasOwn(requestContext, key) ? requestContext[key as keyof RequestContext] : undefined,
    }),
    begin: ({ stepId, position }, payload, extra) => {
      places.set(stepId, { stepId, position })
      write(stepId, { status: 'running', payload, startedAt: clock, ...extra })
      return count(stepId, jsonBytes(payload), true)
    },
    change: (stepId, update) => {
      const record = records.get(stepId)
      if (record) write(stepId, update(record))
    },
    admit: (stepId, output) => {
      const bytes = jsonBytes(output)
      if (bytes > limits.stepOutputBytes)
        return {
          code: 'STEP_OUTPUT_TOO_LARGE',
          message: `The output is over ${limits.stepOutputBytes} bytes.`,
        }
      journalBytes += bytes
      if (journalBytes > limits.journalBytes)
        return tooLarge(`All turns of the run's steps together put out over ${limits.journalBytes}`)
      return count(stepId, bytes, false)
    },
    finish: (stepId, result) => {
      if (!hasFailed(result)) outputs.set(stepId, result.output)
      const record = records.get(stepId)
      if (record) write(stepId, settled(record, result))
    },
    reuse: ({ stepId, position }, record) => {
      places.set(stepId, { stepId, position })
      outputs.set(stepId, record.output)
      count(stepId, jsonBytes(record.payload) + jsonBytes(record.output), true)
      write(stepId, record)
    },
    abandonOpen: () => {
      for (const [stepId, record] of records) {
        const left = abandoned(record, clock)
        if (left) write(stepId, left)
      }
    },
  }
}
