import type { CallOptions } from '../client.ts'
import { Runs as Printed, type RerunWorkflowRunBody } from '../generated/runs.ts'
import { RunHandle } from '../run-handle.ts'
import { type RunState, type WatchOptions, watchRun } from '../run-watch.ts'

export { StreamError } from '../helper-errors.ts'
export { RunHandle }

/** Runs of workflows. */
export class Runs extends Printed {
  /** A run that is known by its id. */
  handle(runId: string): RunHandle {
    return new RunHandle(this.client, runId)
  }

  /** Each state of a run, the present one first, until it settles. */
  watch(runId: string, options?: WatchOptions): AsyncGenerator<RunState, void, undefined> {
    return watchRun(this.client, runId, options)
  }

  /** Runs it again, from the start or from a step on with the results before it. */
  rerun(runId: string, body?: RerunWorkflowRunBody, options?: CallOptions): Promise<RunHandle> {
    return this.handle(runId).rerun(body, options)
  }
}
