// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { list, type Pager } from '../pager.ts'
import { Resource } from '../resource.ts'
import type { QueueJob, RunStatus, StepOutcome, Success, WorkflowRun } from './records.ts'

/** What {@link listWorkflowRuns} can be asked for. */
export interface ListWorkflowRunsQuery {
  /** 1 to 200; what lies outside is read as the nearest */
  limit?: number | undefined
  status?: RunStatus | undefined
  workflowId?: string | undefined
  cursor?: string | undefined
}

/** What {@link listWorkflowRuns} answers. */
export interface ListWorkflowRunsAnswer {
  runs: WorkflowRun[]
  nextCursor: string | null
}

/**
 * The runs of this workspace, newest first.
 *
 * Follow nextCursor until it is null. Snapshots are whole, so a page of large runs ends before its limit.
 */
export const listWorkflowRuns: Operation<
  { query?: ListWorkflowRunsQuery | undefined },
  ListWorkflowRunsAnswer
> = { name: 'listWorkflowRuns', path: '/api/v1/workflows/runs', page: 'cursor', items: 'runs' }

/** What {@link getWorkflowRun} answers. */
export interface GetWorkflowRunAnswer {
  run: WorkflowRun
  steps: Record<string, StepOutcome>
}

/**
 * One run and what its steps gave.
 *
 * `steps` has what settled steps gave, the snapshot what each one got as well.
 */
export const getWorkflowRun: Operation<{ params: { runId: string } }, GetWorkflowRunAnswer> = {
  name: 'getWorkflowRun',
  path: '/api/v1/workflows/runs/:runId',
}

/** What {@link getWorkflowRunDefinition} answers. */
export interface GetWorkflowRunDefinitionAnswer {
  definition: Record<string, unknown>
  /** SHA-256 of the definition as it was installed */
  checksum: string
  /** Whether the same is installed now */
  current: boolean
}

/**
 * The definition that a run was launched with.
 *
 * Draw a run from this one: what is installed may be newer, and `current` says whether it is.
 */
export const getWorkflowRunDefinition: Operation<
  { params: { runId: string } },
  GetWorkflowRunDefinitionAnswer
> = { name: 'getWorkflowRunDefinition', path: '/api/v1/workflows/runs/:runId/definition' }

/** What is sent to {@link resumeWorkflowRun}. */
export interface ResumeWorkflowRunBody {
  resumeData?: unknown
  stepId?: string | undefined
}

/** What {@link resumeWorkflowRun} answers. */
export interface ResumeWorkflowRunAnswer {
  runId: string
  status: 'running'
}

/**
 * Answer the step that a run waits at.
 *
 * Questions to people take only a session: others get 403 with approval_url. On 409 read the run again: it has moved.
 */
export const resumeWorkflowRun: Operation<
  { params: { runId: string }; body?: ResumeWorkflowRunBody | undefined },
  ResumeWorkflowRunAnswer
> = { name: 'resumeWorkflowRun', path: '/api/v1/workflows/runs/:runId/resume', method: 'POST', creates: true }

/** What {@link cancelWorkflowRun} answers. */
export interface CancelWorkflowRunAnswer {
  success: true
  runId: string
}

/**
 * End a run that is running or suspended.
 *
 * Steps that run are stopped. 409 when it has ended otherwise.
 */
export const cancelWorkflowRun: Operation<{ params: { runId: string } }, CancelWorkflowRunAnswer> = {
  name: 'cancelWorkflowRun',
  path: '/api/v1/workflows/runs/:runId/cancel',
  method: 'POST',
}

/** What is sent to {@link rerunWorkflowRun}. */
export interface RerunWorkflowRunBody {
  fromStep?: string | undefined
  inputs?: Record<string, unknown> | undefined
}

/** What {@link rerunWorkflowRun} answers. */
export interface RerunWorkflowRunAnswer {
  runId: string
  parentRunId: string
  workflowId: string
  status: 'started'
  reused: string[]
}

/**
 * Run it again, from the start or from a step on with the results before it.
 *
 * Uses the definition of that run. 409 while it has not ended, or when a step before `fromStep` did not succeed.
 */
export const rerunWorkflowRun: Operation<
  { params: { runId: string }; body?: RerunWorkflowRunBody | undefined },
  RerunWorkflowRunAnswer
> = {
  name: 'rerunWorkflowRun',
  path: '/api/v1/workflows/runs/:runId/rerun',
  method: 'POST',
  creates: true,
  namesAgent: true,
}

/** What {@link listWorkflowQueue} answers. */
export interface ListWorkflowQueueAnswer {
  queued: QueueJob[]
  total: number
}

/**
 * Runs of this workspace that wait or advance.
 *
 * Oldest first.
 */
export const listWorkflowQueue: Operation<object, ListWorkflowQueueAnswer> = {
  name: 'listWorkflowQueue',
  path: '/api/v1/workflows/queue',
}

/**
 * Cancel a run that waits or advances.
 *
 * 404 for a run that has ended or waits for a person; cancel the latter.
 */
export const deleteWorkflowQueueJob: Operation<{ params: { runId: string } }, Success> = {
  name: 'deleteWorkflowQueueJob',
  path: '/api/v1/workflows/queue/:runId',
  method: 'DELETE',
}

/** What {@link streamWorkflowRun} can be asked for. */
export interface StreamWorkflowRunQuery {
  /** Stay open while the run waits for an answer */
  through?: 'suspended' | undefined
  /** After the first frame only what is different */
  changes?: '1' | undefined
}

/**
 * The state of a run, and each that follows, until it stands still.
 *
 * Each frame is a whole snapshot, and its id the version of the run. Ends at success, failed and suspended: open it again after an answer, or ask for it through=suspended. With changes=1 frames after the first tell only what is different.
 */
export const streamWorkflowRun: Operation<
  { params: { runId: string }; query?: StreamWorkflowRunQuery | undefined },
  Response
> = { name: 'streamWorkflowRun', path: '/api/v1/workflows/runs/:runId/events', answers: 'events' }

/** One method for each of these operations. */
export class Runs extends Resource {
  /**
   * The runs of this workspace, newest first.
   *
   * Follow nextCursor until it is null. Snapshots are whole, so a page of large runs ends before its limit.
   */
  list(query?: ListWorkflowRunsQuery, options?: CallOptions): Pager<WorkflowRun> {
    return list(
      this.client,
      { name: 'listWorkflowRuns', path: '/api/v1/workflows/runs', page: 'cursor', items: 'runs' },
      { query },
      options,
    )
  }
  /**
   * One run and what its steps gave.
   *
   * `steps` has what settled steps gave, the snapshot what each one got as well.
   */
  get(runId: string, options?: CallOptions): Promise<GetWorkflowRunAnswer> {
    return this.client.call(
      { name: 'getWorkflowRun', path: '/api/v1/workflows/runs/:runId' },
      { params: { runId } },
      options,
    )
  }
  /**
   * The definition that a run was launched with.
   *
   * Draw a run from this one: what is installed may be newer, and `current` says whether it is.
   */
  definition(runId: string, options?: CallOptions): Promise<GetWorkflowRunDefinitionAnswer> {
    return this.client.call(
      { name: 'getWorkflowRunDefinition', path: '/api/v1/workflows/runs/:runId/definition' },
      { params: { runId } },
      options,
    )
  }
  /**
   * Answer the step that a run waits at.
   *
   * Questions to people take only a session: others get 403 with approval_url. On 409 read the run again: it has moved.
   */
  resume(
    runId: string,
    body?: ResumeWorkflowRunBody,
    options?: CallOptions,
  ): Promise<ResumeWorkflowRunAnswer> {
    return this.client.call(
      {
        name: 'resumeWorkflowRun',
        path: '/api/v1/workflows/runs/:runId/resume',
        method: 'POST',
        creates: true,
      },
      { params: { runId }, body },
      options,
    )
  }
  /**
   * End a run that is running or suspended.
   *
   * Steps that run are stopped. 409 when it has ended otherwise.
   */
  cancel(runId: string, options?: CallOptions): Promise<CancelWorkflowRunAnswer> {
    return this.client.call(
      { name: 'cancelWorkflowRun', path: '/api/v1/workflows/runs/:runId/cancel', method: 'POST' },
      { params: { runId } },
      options,
    )
  }
  /**
   * Runs of this workspace that wait or advance.
   *
   * Oldest first.
   */
  queue(options?: CallOptions): Promise<ListWorkflowQueueAnswer> {
    return this.client.call({ name: 'listWorkflowQueue', path: '/api/v1/workflows/queue' }, {}, options)
  }
  /**
   * Cancel a run that waits or advances.
   *
   * 404 for a run that has ended or waits for a person; cancel the latter.
   */
  dequeue(runId: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'deleteWorkflowQueueJob', path: '/api/v1/workflows/queue/:runId', method: 'DELETE' },
      { params: { runId } },
      options,
    )
  }
}
