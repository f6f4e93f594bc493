import { readBody } from '../container.ts'
import { RunFailed, stepError } from '../failure.ts'
import { anything } from '../flow.ts'
import { isRecord, joinPath, own } from '../json.ts'
import { type Condition, evaluate, readCondition } from '../predicate.ts'
import { checkFields, type EntryType } from '../reading.ts'
import type { Run } from '../run.ts'
import { failed, runBeside, type Step } from '../step.ts'

/** Repeats its step on the step's own output, while or until a condition holds; gives the last output. */
export const loop: EntryType = {
  kind: 'container',
  read: (raw, place, reading, input) => {
    const { add } = reading
    const fields = {
      type: 'text',
      loopType: 'any',
      step: 'any',
      predicate: 'any',
      serializedCondition: 'any?',
    } as const
    const fine = checkFields(raw, place.path, fields, add)
    const loopType = own(raw, 'loopType')
    const isLoopType = loopType === 'dowhile' || loopType === 'dountil'
    if (loopType !== undefined && !isLoopType)
      add('invalid-loop-type', joinPath(place.path, 'loopType'), 'loopType is "dowhile" or "dountil".')
    const { step, output } = readBody(raw, place, reading, input)
    const body = own(raw, 'step')
    const bodyId = isRecord(body) ? own(body, 'id') : undefined
    const knows = (stepId: string) => stepId === bodyId || reading.shapeOf(stepId) !== undefined
    const predicate = own(raw, 'predicate')
    const condition =
      predicate === undefined
        ? undefined
        : readCondition(predicate, joinPath(place.path, 'predicate'), add, knows)
    if (!fine || !isLoopType || !step || !condition) return { output: anything }
    return {
      output,
      entry: {
        steps: [step],
        run: (value, run) => repeat(step, condition, loopType === 'dowhile', value, run),
        restore: (made) => made.get(step.stepId),
      },
    }
  },
}

async function repeat(
  step: Step,
  condition: Condition,
  whileHolds: boolean,
  input: unknown,
  run: Run,
): Promise<unknown> {
  const { loopIterations } = run.launch.limits
  let value = input
  for (let iteration = 0; iteration < loopIterations; iteration++) {
    const extra = { metadata: { iterationCount: iteration + 1 } }
    const [output] = await runBeside([step], value, run, iteration, extra)
    value = output
    if (evaluate(condition, run.scope(value)) !== whileHolds) return value
  }
  const failure = {
    code: 'LOOP_LIMIT_EXCEEDED',
    message: `The loop did not end within ${loopIterations} iterations.`,
  } as const
  run.finish(step.stepId, failed(run, step.stepId, failure))
  throw new RunFailed(stepError(step.stepId, failure))
}
