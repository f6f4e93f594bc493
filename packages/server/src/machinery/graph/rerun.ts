import type { Workflow } from './compile.ts'
import type { StepChange } from './durable.ts'
import type { StepRecord } from './records.ts'

/** What a rerun takes over from the run before it. */
export interface Reuse {
  /** The entry it starts from. */
  readonly from: number
  readonly input: unknown
  readonly records: readonly StepChange[]
}

/**
 * What can be kept of an earlier run when it is done again from a step on: everything before the entry that holds the
 * step. Undefined when there is no such step, or when an entry before it did not succeed.
 */
export function planRerun(
  workflow: Workflow,
  inputs: unknown,
  records: ReadonlyMap<string, StepRecord>,
  fromStep: string,
): Reuse | undefined {
  const from = workflow.entries.findIndex(({ steps }) => steps.some(({ stepId }) => stepId === fromStep))
  if (from < 0) return undefined
  const kept = workflow.entries.slice(0, from).flatMap(({ steps }) =>
    steps.flatMap(({ stepId, position }) => {
      const record = records.get(stepId)
      return record ? [{ stepId, position, record }] : []
    }),
  )
  if (kept.some(({ record }) => record.status !== 'success')) return undefined
  const outputs = new Map(kept.map(({ stepId, record }) => [stepId, record.output]))
  const input = from === 0 ? inputs : workflow.entries[from - 1]?.restore(outputs)
  const isComplete = workflow.entries.slice(0, from).every((entry) => entry.restore(outputs) !== undefined)
  return isComplete && input !== undefined ? { from, input, records: kept } : undefined
}
