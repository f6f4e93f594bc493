import { keyedById, readChildren } from '../container.ts'
import { closedRecord, someRecord } from '../flow.ts'
import { joinPath, own } from '../json.ts'
import { definitionLimits } from '../limits.ts'
import { type Condition, evaluate, readCondition } from '../predicate.ts'
import { checkFields, type EntryType, type Place, type Reading } from '../reading.ts'
import { runBeside } from '../step.ts'

/** Runs every step whose condition holds, side by side; gives a record of those that ran. */
export const conditional: EntryType = {
  kind: 'container',
  read: (raw, place, reading, _input) => {
    const fields = { type: 'text', steps: 'list', predicates: 'list', serializedConditions: 'any?' } as const
    const fine = checkFields(raw, place.path, fields, reading.add)
    // A branch that cannot work is no fault as long as it need not be taken.
    const { steps, outputs } = readChildren(raw, place, reading, undefined)
    const conditions = readConditions(own(raw, 'predicates'), place, reading)
    const [branches, predicates] = [own(raw, 'steps'), own(raw, 'predicates')]
    if (Array.isArray(branches) && Array.isArray(predicates) && branches.length !== predicates.length)
      reading.add(
        'predicate-count-mismatch',
        joinPath(place.path, 'predicates'),
        'There must be one predicate for each step, in the same order.',
      )
    if (!fine || !steps || conditions?.length !== steps.length) return { output: someRecord }
    return {
      output: closedRecord(steps.map(({ stepId }, index) => [stepId, outputs[index] ?? someRecord])),
      entry: {
        steps,
        run: async (value, run) => {
          const scope = run.scope(value)
          const holds = conditions.map((condition) => evaluate(condition, scope))
          const chosen = steps.filter((_, index) => holds[index])
          return keyedById(chosen, await runBeside(chosen, value, run))
        },
        restore: (made) => {
          const ran = steps.filter(({ stepId }) => made.has(stepId))
          return keyedById(
            ran,
            ran.map(({ stepId }) => made.get(stepId)),
          )
        },
      },
    }
  },
}

function readConditions(raw: unknown, place: Place, reading: Reading): Condition[] | undefined {
  if (!Array.isArray(raw) || raw.length > definitionLimits.children) return undefined
  const path = joinPath(place.path, 'predicates')
  const knows = (stepId: string) => reading.shapeOf(stepId) !== undefined
  const conditions = raw.map((one, index) => readCondition(one, joinPath(path, index), reading.add, knows))
  return conditions.every((condition) => condition !== undefined) ? conditions : undefined
}
