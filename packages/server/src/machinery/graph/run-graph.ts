import type { Workflow } from './compile.ts'
import type { Durable } from './durable.ts'
import { RunCanceled, type RunError, RunFailed } from './failure.ts'
import type { StepRecord } from './records.ts'
import type { Reuse } from './rerun.ts'
import { createRun, type Launch } from './run.ts'
import { validateValue } from './schema-value.ts'

export type RunEnd = { readonly at: number; readonly records: ReadonlyMap<string, StepRecord> } & (
  | { readonly status: 'success'; readonly result: unknown }
  | { readonly status: 'failed'; readonly error: RunError }
  | { readonly status: 'canceled' }
)

/**
 * Runs a compiled definition to its end. Each entry gets what the one before it gave; the last one's output is the
 * result. Deterministic over the port: the same outcomes in the same order give the same calls in the same order.
 */
export async function runGraph(
  workflow: Workflow,
  durable: Durable,
  launch: Launch,
  reuse?: Reuse,
): Promise<RunEnd> {
  const run = createRun(launch, workflow.state, durable)
  for (const { stepId, position, record } of reuse?.records ?? []) run.reuse({ stepId, position }, record)
  try {
    let value = reuse ? reuse.input : launch.inputs
    for (const entry of workflow.entries.slice(reuse?.from ?? 0)) value = await entry.run(value, run)
    const [problem] = validateValue(workflow.outputSchema, value)
    if (problem) throw new RunFailed(outputInvalid(problem))
    return { status: 'success', result: value, at: run.now(), records: run.records }
  } catch (error) {
    // Anything else is the engine putting the run aside, and its steps stay as they are.
    if (!(error instanceof RunFailed || error instanceof RunCanceled)) throw error
    run.abandonOpen()
    const end = { at: run.now(), records: run.records }
    if (error instanceof RunFailed) return { status: 'failed', error: error.error, ...end }
    return { status: 'canceled', ...end }
  }
}

function outputInvalid(problem: { path: string; message: string }): RunError {
  const where = problem.path === '' ? 'The result' : `The result at ${problem.path}`
  return {
    name: 'WorkflowError',
    code: 'WORKFLOW_OUTPUT_INVALID',
    message: `${where} ${problem.message}.`,
    details: { issues: [problem] },
  }
}
