import { readBody } from '../container.ts'
import type { Failure } from '../failure.ts'
import { anything, type Shape } from '../flow.ts'
import { isRecord, type JsonRecord, joinPath, own } from '../json.ts'
import { checkFields, type EntryType, type Place, type Reading } from '../reading.ts'
import { hasFailed, type StepResult } from '../records.ts'
import type { Run } from '../run.ts'
import { failed, outputsOf, type Step } from '../step.ts'
import { drive } from '../task.ts'

/** Runs its step for every item of a list, so many at a time; gives the list of outputs in the items' order. */
export const foreach: EntryType = {
  kind: 'container',
  read: (raw, place, reading, input) => {
    const fine = checkFields(raw, place.path, { type: 'text', step: 'any', opts: 'record?' }, reading.add)
    if (input.kind !== 'array' && input.kind !== 'anything')
      reading.add(
        'incompatible-schema',
        place.path,
        'A foreach needs a list, and what comes before never gives one.',
      )
    const concurrency = readConcurrency(raw, place, reading)
    // An item's step may get nothing at all when the list is empty, so nothing is certain about it.
    const { step, output: item } = readBody(raw, place, reading, undefined)
    const output: Shape = { kind: 'array', items: item }
    const body = own(raw, 'step')
    const bodyId = isRecord(body) ? own(body, 'id') : undefined
    if (typeof bodyId === 'string') reading.describe(bodyId, step ? output : anything)
    if (!fine || !step || concurrency === undefined) return { output }
    return {
      output,
      entry: {
        steps: [step],
        run: (value, run) => runEach(step, concurrency, value, run),
        restore: (made) => made.get(step.stepId),
      },
    }
  },
}

function readConcurrency(raw: JsonRecord, place: Place, { add }: Reading): number | undefined {
  const opts = own(raw, 'opts')
  if (!isRecord(opts)) return 1
  const path = joinPath(place.path, 'opts')
  if (!checkFields(opts, path, { concurrency: 'any?' }, add)) return undefined
  const concurrency = Object.hasOwn(opts, 'concurrency') ? opts['concurrency'] : 1
  if (Number.isInteger(concurrency) && Number(concurrency) >= 1) return Number(concurrency)
  add('invalid-concurrency', joinPath(path, 'concurrency'), 'concurrency is a whole number from 1.')
  return undefined
}

async function runEach(step: Step, concurrency: number, input: unknown, run: Run): Promise<unknown> {
  const { stepId } = step
  const { foreachItems, foreachConcurrency } = run.launch.limits
  const refused = run.begin(step, input) ?? unfit(input, foreachItems)
  const tasks =
    refused || !Array.isArray(input)
      ? []
      : input.map((item, index) => step.perform(item, { index, iteration: 0, alone: false }, run))
  const results = await drive(run.durable, tasks, hasFailed, Math.min(concurrency, foreachConcurrency))
  const result = refused ? failed(run, stepId, refused) : together(results, run)
  run.finish(stepId, result)
  return outputsOf([result])[0]
}

function unfit(input: unknown, maxItems: number): Failure | undefined {
  if (!Array.isArray(input)) return { code: 'FOREACH_INPUT_NOT_ARRAY', message: 'A foreach needs a list.' }
  if (input.length <= maxItems) return undefined
  return {
    code: 'FOREACH_LIMIT_EXCEEDED',
    message: `The list has ${input.length} items; ${maxItems} are allowed.`,
  }
}

/** One result for all items: the first failure by index, or the list of outputs. */
function together(results: readonly (StepResult | undefined)[], run: Run): StepResult {
  const index = results.findIndex((result) => result && hasFailed(result))
  const error = results[index]?.error
  if (error) return { error: { ...error, details: { ...error.details, index } }, endedAt: run.now() }
  return { output: outputsOf(results), endedAt: run.now() }
}
