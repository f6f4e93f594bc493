import { StepRefused } from '../failure.ts'
import { someRecord } from '../flow.ts'
import { joinPath, own } from '../json.ts'
import { applyMapping, type Mapping, readMapping } from '../mapping.ts'
import { checkFields, type EntryType } from '../reading.ts'
import { failed, type Step } from '../step.ts'

/** Builds a record from constants, launch inputs, earlier steps and the request. Computed, never called. */
export const mapping: EntryType = {
  kind: 'mapping',
  read: (raw, place, reading) => {
    const stepId = reading.claimId(raw, place)
    const fine = checkFields(raw, place.path, { type: 'text', id: 'any?', mapConfig: 'text' }, reading.add)
    const config = own(raw, 'mapConfig')
    const read =
      typeof config === 'string' ? readMapping(config, joinPath(place.path, 'mapConfig'), reading) : {}
    const output = read.output ?? someRecord
    if (stepId) reading.describe(stepId, output)
    if (!fine || !stepId || !read.mapping) return { output }
    return { step: mappingStep(stepId, place.position, read.mapping), output }
  },
}

function mappingStep(stepId: string, position: readonly number[], sources: Mapping): Step {
  return {
    stepId,
    position,
    // biome-ignore lint/correctness/useYield: a step is a task, and this one has nothing to wait for
    perform: function* (input, _turn, run) {
      try {
        const output = applyMapping(sources, run.scope(input), run.launch.limits.stepOutputBytes)
        const refused = run.admit(stepId, output)
        return refused ? failed(run, stepId, refused) : { output, endedAt: run.now() }
      } catch (error) {
        if (error instanceof StepRefused) return failed(run, stepId, error.failure)
        throw error
      }
    },
  }
}
