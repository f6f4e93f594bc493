import type { CallOptions, Client } from './client.ts'
import {
  type CancelWorkflowRunAnswer,
  cancelWorkflowRun,
  type GetWorkflowRunAnswer,
  getWorkflowRun,
  type RerunWorkflowRunBody,
  type ResumeWorkflowRunAnswer,
  type ResumeWorkflowRunBody,
  rerunWorkflowRun,
  resumeWorkflowRun,
} from './generated/runs.ts'
import { type RunState, type WatchOptions, watchRun } from './run-watch.ts'

/** One run of a workflow, by its id. It holds nothing else. */
export class RunHandle {
  readonly id: string
  readonly #client: Client

  constructor(client: Client, id: string) {
    this.#client = client
    this.id = id
  }

  /** Each state of it, until it settles. */
  watch(options?: WatchOptions): AsyncGenerator<RunState, void, undefined> {
    return watchRun(this.#client, this.id, options)
  }

  /** How it stands, and what its steps gave. */
  get(options?: CallOptions): Promise<GetWorkflowRunAnswer> {
    return this.#client.call(getWorkflowRun, { params: { runId: this.id } }, options)
  }

  /** Its state when it settles: `status` tells how, `snapshot.result` what came out. */
  async result(options?: WatchOptions): Promise<RunState> {
    let last: RunState | undefined
    for await (const state of this.watch(options)) last = state
    // It ends with a state, and never without one.
    return last as RunState
  }

  /** Answers the step it waits at. */
  resume(body: ResumeWorkflowRunBody = {}, options?: CallOptions): Promise<ResumeWorkflowRunAnswer> {
    return this.#client.call(resumeWorkflowRun, { params: { runId: this.id }, body }, options)
  }

  /** Ends it. */
  cancel(options?: CallOptions): Promise<CancelWorkflowRunAnswer> {
    return this.#client.call(cancelWorkflowRun, { params: { runId: this.id } }, options)
  }

  /** Runs it again, from the start or from a step on. */
  async rerun(body: RerunWorkflowRunBody = {}, options?: CallOptions): Promise<RunHandle> {
    const { runId } = await this.#client.call(rerunWorkflowRun, { params: { runId: this.id }, body }, options)
    return new RunHandle(this.#client, runId)
  }
}
