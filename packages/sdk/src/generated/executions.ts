// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { list, type Pager } from '../pager.ts'
import { Resource } from '../resource.ts'
import type { Attachment, Execution, ExecutionEvent, ExecutionStatus, Open } from './records.ts'

/** What is sent to {@link createExecution}. */
export interface CreateExecutionBody {
  skill_slug?: string | undefined
  input?: string | undefined
  source?: string | undefined
  /** Where it was asked for, in any words */
  interface?: string | undefined
  /** A trace to go on with */
  sessionId?: string | undefined
  remixOf?: string | undefined
  /** In Ds */
  maxCost?: number | undefined
  attachments?: Attachment[] | undefined
}

/** What {@link createExecution} answers. */
export interface CreateExecutionAnswer {
  id: string
  skill_slug: string
  skill_name: string
  status: 'idle'
}

/**
 * Prepare an execution; nothing runs until a user.message is posted to it.
 *
 * Needs no scope and costs nothing; one that nobody starts ends after a day.
 */
export const createExecution: Operation<{ body: CreateExecutionBody }, CreateExecutionAnswer> = {
  name: 'createExecution',
  path: '/api/v1/executions',
  method: 'POST',
  creates: true,
  namesAgent: true,
}

/** What {@link listExecutions} can be asked for. */
export interface ListExecutionsQuery {
  /** 1 to 200; what lies outside is read as the nearest */
  limit?: number | undefined
  cursor?: string | undefined
  /** Items to pass over */
  offset?: number | undefined
  status?: 'idle' | 'working' | 'completed' | 'failed' | undefined
  /** The slug of a skill */
  skill?: string | undefined
  channels?: string | undefined
  interfaces?: string | undefined
}

/** What {@link listExecutions} answers. */
export interface ListExecutionsAnswer {
  items: Execution[]
  nextCursor: string | null
  hasMore: boolean
  offset: number
  limit: number
}

/**
 * The executions of this workspace, newest first.
 *
 * Follow nextCursor until it is null; with `offset` what was seen moves down as new ones come. `channels` and `interfaces` filter by what was said at the start, separated by commas.
 */
export const listExecutions: Operation<{ query?: ListExecutionsQuery | undefined }, ListExecutionsAnswer> = {
  name: 'listExecutions',
  path: '/api/v1/executions',
  page: 'cursor',
}

/**
 * How far an execution is, and what has come out of it.
 *
 * Output blocks are the log folded for reading; to watch it live use the stream.
 */
export const getExecutionStatus: Operation<{ params: { executionId: string } }, ExecutionStatus> = {
  name: 'getExecutionStatus',
  path: '/api/v1/executions/:executionId/status',
}

/** What {@link getStreamToken} answers. */
export interface GetStreamTokenAnswer {
  sseUrl: string
}

/**
 * An address at which the events can be read for whoever holds it; open it within a minute.
 *
 * Asked for text/event-stream, this address is the stream itself; otherwise get a new address for every opening.
 */
export const getStreamToken: Operation<{ params: { executionId: string } }, GetStreamTokenAnswer> = {
  name: 'getStreamToken',
  path: '/api/v1/executions/:executionId/stream-token',
}

/** What is sent to {@link postExecutionEvents}. */
export interface PostExecutionEventsBody {
  /** At least one */
  events: (
    | {
        type: 'user.message'
        content: {
          type: 'text'
          text: string
        }[]
      }
    | {
        type: 'user.interrupt'
      }
  )[]
  /** When another execution works: refuse, or wait for its turn */
  ifBusy?: 'reject' | 'queue' | undefined
  /** In Ds */
  maxCost?: number | undefined
}

/** What {@link postExecutionEvents} answers. */
export interface PostExecutionEventsAnswer {
  data: ExecutionEvent[]
}

/**
 * Start a prepared execution with a user.message, or end one with a user.interrupt; several are taken in order, all or none.
 *
 * With ifBusy `queue` it waits its turn instead of 429. 409 once it has started or ended. 402: add credits.
 */
export const postExecutionEvents: Operation<
  { params: { executionId: string }; body: PostExecutionEventsBody },
  PostExecutionEventsAnswer
> = {
  name: 'postExecutionEvents',
  path: '/api/v1/executions/:executionId/events',
  method: 'POST',
  creates: true,
  namesAgent: true,
}

/** What is sent to {@link rerunExecution}. */
export interface RerunExecutionBody {
  /** What the skill is asked to do; it may be empty */
  input: string
  /** In Ds */
  maxCost?: number | undefined
  /** When another execution works: refuse, or wait for its turn */
  ifBusy?: 'reject' | 'queue' | undefined
  /** Left out, it gets those of the execution that is run again */
  attachments?: Attachment[] | undefined
}

/** What {@link rerunExecution} answers. */
export interface RerunExecutionAnswer {
  executionId: string
  parentExecutionId: string
  skillName: string
  status: Open<'started' | 'queued'>
  message: string
}

/**
 * Run the same skill again with another input, linked to this execution.
 *
 * It gets the skill's present version, and the attachments of the parent unless you send some or an empty list; those that others attached want workspace:files:read of a key. 402, 403 and 429 as when a skill is run; with ifBusy `queue` it waits its turn.
 */
export const rerunExecution: Operation<
  { params: { executionId: string }; body: RerunExecutionBody },
  RerunExecutionAnswer
> = {
  name: 'rerunExecution',
  path: '/api/v1/executions/:executionId/rerun',
  method: 'POST',
  creates: true,
  namesAgent: true,
}

/** What {@link cancelExecution} answers. */
export interface CancelExecutionAnswer {
  success: boolean
  message: string
  processKilled: boolean
  actualStatus: string
}

/**
 * End an execution and every process of it.
 *
 * Says whether processes were killed; `success` is false when it had ended already. What was used is charged.
 */
export const cancelExecution: Operation<{ params: { executionId: string } }, CancelExecutionAnswer> = {
  name: 'cancelExecution',
  path: '/api/v1/executions/:executionId/cancel',
  method: 'POST',
}

/** One method for each of these operations. */
export class Executions extends Resource {
  /**
   * Prepare an execution; nothing runs until a user.message is posted to it.
   *
   * Needs no scope and costs nothing; one that nobody starts ends after a day.
   */
  create(body: CreateExecutionBody, options?: CallOptions): Promise<CreateExecutionAnswer> {
    return this.client.call(
      {
        name: 'createExecution',
        path: '/api/v1/executions',
        method: 'POST',
        creates: true,
        namesAgent: true,
      },
      { body },
      options,
    )
  }
  /**
   * The executions of this workspace, newest first.
   *
   * Follow nextCursor until it is null; with `offset` what was seen moves down as new ones come. `channels` and `interfaces` filter by what was said at the start, separated by commas.
   */
  list(query?: ListExecutionsQuery, options?: CallOptions): Pager<Execution> {
    return list(
      this.client,
      { name: 'listExecutions', path: '/api/v1/executions', page: 'cursor' },
      { query },
      options,
    )
  }
  /**
   * How far an execution is, and what has come out of it.
   *
   * Output blocks are the log folded for reading; to watch it live use the stream.
   */
  status(executionId: string, options?: CallOptions): Promise<ExecutionStatus> {
    return this.client.call(
      { name: 'getExecutionStatus', path: '/api/v1/executions/:executionId/status' },
      { params: { executionId } },
      options,
    )
  }
  /**
   * An address at which the events can be read for whoever holds it; open it within a minute.
   *
   * Asked for text/event-stream, this address is the stream itself; otherwise get a new address for every opening.
   */
  streamToken(executionId: string, options?: CallOptions): Promise<GetStreamTokenAnswer> {
    return this.client.call(
      { name: 'getStreamToken', path: '/api/v1/executions/:executionId/stream-token' },
      { params: { executionId } },
      options,
    )
  }
  /**
   * Start a prepared execution with a user.message, or end one with a user.interrupt; several are taken in order, all or none.
   *
   * With ifBusy `queue` it waits its turn instead of 429. 409 once it has started or ended. 402: add credits.
   */
  post(
    executionId: string,
    body: PostExecutionEventsBody,
    options?: CallOptions,
  ): Promise<PostExecutionEventsAnswer> {
    return this.client.call(
      {
        name: 'postExecutionEvents',
        path: '/api/v1/executions/:executionId/events',
        method: 'POST',
        creates: true,
        namesAgent: true,
      },
      { params: { executionId }, body },
      options,
    )
  }
  /**
   * End an execution and every process of it.
   *
   * Says whether processes were killed; `success` is false when it had ended already. What was used is charged.
   */
  cancel(executionId: string, options?: CallOptions): Promise<CancelExecutionAnswer> {
    return this.client.call(
      { name: 'cancelExecution', path: '/api/v1/executions/:executionId/cancel', method: 'POST' },
      { params: { executionId } },
      options,
    )
  }
}
