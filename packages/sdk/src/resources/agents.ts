import { Agents as Printed, type SubscribeThreadBody } from '../generated/agents.ts'
import type { ThreadStreamEvent } from '../generated/records.ts'
import { type ThreadOptions, threadEvents } from '../thread-events.ts'

/** Agents of the workspace, and talking to them. */
export class Agents extends Printed {
  /** Everything that happens in a thread, each event once, until the loop is left. */
  subscribeThread(
    agentId: string,
    thread: Pick<SubscribeThreadBody, 'resourceId' | 'threadId'>,
    options?: ThreadOptions,
  ): AsyncGenerator<ThreadStreamEvent, void, undefined> {
    return threadEvents(this.client, agentId, thread, options)
  }
}
