import { keyedById, readChildren } from '../container.ts'
import { closedRecord, someRecord } from '../flow.ts'
import { checkFields, type EntryType } from '../reading.ts'
import { runBeside } from '../step.ts'

/** Runs its steps side by side on one input; gives a record of their outputs by id. */
export const parallel: EntryType = {
  kind: 'container',
  read: (raw, place, reading, input) => {
    const fine = checkFields(raw, place.path, { type: 'text', steps: 'list' }, reading.add)
    const { steps, outputs } = readChildren(raw, place, reading, input)
    if (!fine || !steps) return { output: someRecord }
    return {
      output: closedRecord(steps.map(({ stepId }, index) => [stepId, outputs[index] ?? someRecord])),
      entry: {
        steps,
        run: async (value, run) => keyedById(steps, await runBeside(steps, value, run)),
        restore: (made) => {
          const all = steps.map(({ stepId }) => made.get(stepId))
          return all.includes(undefined) ? undefined : keyedById(steps, all)
        },
      },
    }
  },
}
