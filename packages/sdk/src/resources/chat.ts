import type { CallOptions } from '../client.ts'
import type { FollowOptions } from '../event-stream.ts'
import { type ChatBody, Chat as Printed } from '../generated/chat.ts'
import type { ThreadStreamEvent } from '../generated/records.ts'
import { chatEvents } from '../thread-events.ts'

/** Writing to an agent, and its answer. */
export class Chat extends Printed {
  /** Writes to an agent and gives the events of the run that answers, to its end, whatever the connection does. */
  stream(
    agentId: string,
    message: Omit<ChatBody, 'stream' | 'waitSeconds'>,
    options?: FollowOptions & Pick<CallOptions, 'idempotencyKey' | 'permission'>,
  ): AsyncGenerator<ThreadStreamEvent, void, undefined> {
    return chatEvents(this.client, agentId, message, options)
  }
}
