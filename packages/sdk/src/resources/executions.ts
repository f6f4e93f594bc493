import type { CallOptions } from '../client.ts'
import { type ExecutionEventsOptions, type ExecutionStep, executionEvents } from '../execution-events.ts'
import { ExecutionHandle } from '../execution-handle.ts'
import {
  type PostExecutionEventsBody,
  Executions as Printed,
  postExecutionEvents,
  type RerunExecutionBody,
} from '../generated/executions.ts'

export { ExecutionFailedError, StreamError } from '../helper-errors.ts'
export { ExecutionHandle }

/** What skills do when they run. */
export class Executions extends Printed {
  /** An execution that is known by its id. */
  handle(executionId: string): ExecutionHandle {
    return new ExecutionHandle(this.client, executionId)
  }

  /** Every event of an execution, once and in order, until it has ended. */
  events(
    executionId: string,
    options?: ExecutionEventsOptions,
  ): AsyncGenerator<ExecutionStep, void, undefined> {
    return executionEvents(this.client, executionId, options)
  }

  /** Starts what `create` prepared. */
  async start(
    executionId: string,
    text: string,
    settings: Omit<PostExecutionEventsBody, 'events'> = {},
    options?: CallOptions,
  ): Promise<ExecutionHandle> {
    const body = {
      ...settings,
      events: [{ type: 'user.message' as const, content: [{ type: 'text' as const, text }] }],
    }
    await this.client.call(postExecutionEvents, { params: { executionId }, body }, options)
    return this.handle(executionId)
  }

  /** Runs the same skill again with another input. */
  rerun(executionId: string, body: RerunExecutionBody, options?: CallOptions): Promise<ExecutionHandle> {
    return this.handle(executionId).rerun(body, options)
  }
}
