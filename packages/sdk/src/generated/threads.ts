// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { list, type Pager } from '../pager.ts'
import { Resource } from '../resource.ts'
import type { ChatRun, Success, Thread, ThreadMessage } from './records.ts'

/** What is sent to {@link createThread}. */
export interface CreateThreadBody {
  agentId?: string | undefined
  /** A name of your own choice, or the id of a thread; the first use makes the thread */
  threadId?: string | undefined
  title?: string | undefined
  visibility?: 'workspace' | 'private' | undefined
  onNotification?: 'record' | 'wake' | undefined
}

/**
 * Open a thread with an agent.
 *
 * Not needed before writing: the first message makes its thread. Without an agent it is with the primary one. 409 when the id is taken; only a person in the app can open a private one.
 */
export const createThread: Operation<{ body?: CreateThreadBody | undefined }, Thread> = {
  name: 'createThread',
  path: '/api/v1/threads',
  method: 'POST',
  creates: true,
}

/** What {@link listThreads} can be asked for. */
export interface ListThreadsQuery {
  agentId?: string | undefined
  /** 1 to 200; what lies outside is read as the nearest */
  limit?: number | undefined
  cursor?: string | undefined
}

/** What {@link listThreads} answers. */
export interface ListThreadsAnswer {
  items: Thread[]
  nextCursor: string | null
}

/**
 * The threads of this workspace, the latest active first.
 *
 * Private ones are listed for their owner's sessions alone. Go on with nextCursor.
 */
export const listThreads: Operation<{ query?: ListThreadsQuery | undefined }, ListThreadsAnswer> = {
  name: 'listThreads',
  path: '/api/v1/threads',
  page: 'cursor',
}

/**
 * One thread.
 *
 * 404 also for a private one of somebody else.
 */
export const getThread: Operation<{ params: { id: string } }, Thread> = {
  name: 'getThread',
  path: '/api/v1/threads/:id',
}

/** What is sent to {@link updateThread}. */
export interface UpdateThreadBody {
  title?: string | undefined
  visibility?: 'workspace' | 'private' | undefined
  onNotification?: 'record' | 'wake' | undefined
}

/**
 * Change what a thread is called and who sees it.
 *
 * What is left out stays. ThreadVisibility is for the person who owns it, in the app; a private thread has no trace, and the one it had is deleted.
 */
export const updateThread: Operation<{ params: { id: string }; body: UpdateThreadBody }, Thread> = {
  name: 'updateThread',
  path: '/api/v1/threads/:id',
  method: 'PATCH',
}

/**
 * Delete a thread and all that was said in it.
 *
 * What runs in it stops, what that used is charged, and streams of it end.
 */
export const deleteThread: Operation<{ params: { id: string } }, Success> = {
  name: 'deleteThread',
  path: '/api/v1/threads/:id',
  method: 'DELETE',
}

/** What {@link listThreadMessages} can be asked for. */
export interface ListThreadMessagesQuery {
  afterSeq?: number | undefined
  /** 1 to 200; what lies outside is read as the nearest */
  limit?: number | undefined
  /** Seconds to wait for a message */
  wait?: number | undefined
  /** As afterSeq */
  cursor?: string | undefined
}

/** What {@link listThreadMessages} answers. */
export interface ListThreadMessagesAnswer {
  items: ThreadMessage[]
  /** How far the log reaches */
  lastSequence: number
  nextCursor: string | null
}

/**
 * What was said in a thread, in order.
 *
 * Go on with afterSeq=<sequence of the last item>. With `wait` it answers as soon as there is a message after that, or after so many seconds with none.
 */
export const listThreadMessages: Operation<
  { params: { id: string }; query?: ListThreadMessagesQuery | undefined },
  ListThreadMessagesAnswer
> = { name: 'listThreadMessages', path: '/api/v1/threads/:id/messages', page: 'cursor' }

/** What {@link listThreadRuns} can be asked for. */
export interface ListThreadRunsQuery {
  /** 1 to 200; what lies outside is read as the nearest */
  limit?: number | undefined
  cursor?: string | undefined
}

/** What {@link listThreadRuns} answers. */
export interface ListThreadRunsAnswer {
  items: ChatRun[]
  nextCursor: string | null
}

/**
 * The runs of a thread, newest first.
 *
 * A run answers one message and those that were delivered to it.
 */
export const listThreadRuns: Operation<
  { params: { id: string }; query?: ListThreadRunsQuery | undefined },
  ListThreadRunsAnswer
> = { name: 'listThreadRuns', path: '/api/v1/threads/:id/runs', page: 'cursor' }

/**
 * One run of a thread.
 *
 * Says what it waits for, if it does.
 */
export const getThreadRun: Operation<{ params: { id: string; runId: string } }, ChatRun> = {
  name: 'getThreadRun',
  path: '/api/v1/threads/:id/runs/:runId',
}

/** What is sent to {@link interruptThread}. */
export interface InterruptThreadBody {
  runId?: string | undefined
}

/** What {@link interruptThread} answers. */
export interface InterruptThreadAnswer {
  success: boolean
  /** chat_<uuid> */
  runId: string | null
  /** How that run stands now */
  status: string | null
}

/**
 * Stop the active run of a thread, or one that waits its turn.
 *
 * Closing a stream stops nothing; this does. The next run in line starts. A key needs no scope for a run that it has started itself. `success` is false when there was nothing to stop.
 */
export const interruptThread: Operation<
  { params: { id: string }; body?: InterruptThreadBody | undefined },
  InterruptThreadAnswer
> = { name: 'interruptThread', path: '/api/v1/threads/:id/interrupt', method: 'POST' }

/** One method for each of these operations. */
export class Threads extends Resource {
  /**
   * Open a thread with an agent.
   *
   * Not needed before writing: the first message makes its thread. Without an agent it is with the primary one. 409 when the id is taken; only a person in the app can open a private one.
   */
  create(body?: CreateThreadBody, options?: CallOptions): Promise<Thread> {
    return this.client.call(
      { name: 'createThread', path: '/api/v1/threads', method: 'POST', creates: true },
      { body },
      options,
    )
  }
  /**
   * The threads of this workspace, the latest active first.
   *
   * Private ones are listed for their owner's sessions alone. Go on with nextCursor.
   */
  list(query?: ListThreadsQuery, options?: CallOptions): Pager<Thread> {
    return list(
      this.client,
      { name: 'listThreads', path: '/api/v1/threads', page: 'cursor' },
      { query },
      options,
    )
  }
  /**
   * One thread.
   *
   * 404 also for a private one of somebody else.
   */
  get(id: string, options?: CallOptions): Promise<Thread> {
    return this.client.call({ name: 'getThread', path: '/api/v1/threads/:id' }, { params: { id } }, options)
  }
  /**
   * Change what a thread is called and who sees it.
   *
   * What is left out stays. ThreadVisibility is for the person who owns it, in the app; a private thread has no trace, and the one it had is deleted.
   */
  update(id: string, body: UpdateThreadBody, options?: CallOptions): Promise<Thread> {
    return this.client.call(
      { name: 'updateThread', path: '/api/v1/threads/:id', method: 'PATCH' },
      { params: { id }, body },
      options,
    )
  }
  /**
   * Delete a thread and all that was said in it.
   *
   * What runs in it stops, what that used is charged, and streams of it end.
   */
  delete(id: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'deleteThread', path: '/api/v1/threads/:id', method: 'DELETE' },
      { params: { id } },
      options,
    )
  }
  /**
   * What was said in a thread, in order.
   *
   * Go on with afterSeq=<sequence of the last item>. With `wait` it answers as soon as there is a message after that, or after so many seconds with none.
   */
  messages(id: string, query?: ListThreadMessagesQuery, options?: CallOptions): Pager<ThreadMessage> {
    return list(
      this.client,
      { name: 'listThreadMessages', path: '/api/v1/threads/:id/messages', page: 'cursor' },
      { params: { id }, query },
      options,
    )
  }
  /**
   * The runs of a thread, newest first.
   *
   * A run answers one message and those that were delivered to it.
   */
  runs(id: string, query?: ListThreadRunsQuery, options?: CallOptions): Pager<ChatRun> {
    return list(
      this.client,
      { name: 'listThreadRuns', path: '/api/v1/threads/:id/runs', page: 'cursor' },
      { params: { id }, query },
      options,
    )
  }
  /**
   * One run of a thread.
   *
   * Says what it waits for, if it does.
   */
  run(id: string, runId: string, options?: CallOptions): Promise<ChatRun> {
    return this.client.call(
      { name: 'getThreadRun', path: '/api/v1/threads/:id/runs/:runId' },
      { params: { id, runId } },
      options,
    )
  }
  /**
   * Stop the active run of a thread, or one that waits its turn.
   *
   * Closing a stream stops nothing; this does. The next run in line starts. A key needs no scope for a run that it has started itself. `success` is false when there was nothing to stop.
   */
  interrupt(id: string, body?: InterruptThreadBody, options?: CallOptions): Promise<InterruptThreadAnswer> {
    return this.client.call(
      { name: 'interruptThread', path: '/api/v1/threads/:id/interrupt', method: 'POST' },
      { params: { id }, body },
      options,
    )
  }
}
