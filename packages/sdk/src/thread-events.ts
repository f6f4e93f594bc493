import { randomId } from './body.ts'
import type { CallOptions, Client } from './client.ts'
import { type FollowOptions, follow, type Source } from './event-stream.ts'
import { type SubscribeThreadBody, subscribeThread } from './generated/agents.ts'
import { type ChatBody, chat } from './generated/chat.ts'
import type { ThreadStreamEvent } from './generated/records.ts'
import { StreamError } from './helper-errors.ts'

/** How a thread is followed. */
export interface ThreadOptions extends FollowOptions {
  /** Begins after this sequence; from now on when not given. */
  readonly after?: number | undefined
  /** Also parts of replies as they come. */
  readonly deltas?: boolean | undefined
  /** With false, what comes from elsewhere does not look for this thread. */
  readonly background?: boolean | undefined
}

/** Beats come every 25 seconds. */
const idleTimeoutMs = 65_000

/** Everything that happens in a thread. It ends only when the loop is left, or the signal says so. */
export function threadEvents(
  client: Client,
  agentId: string,
  thread: Pick<SubscribeThreadBody, 'resourceId' | 'threadId'>,
  { after, deltas, background, ...options }: ThreadOptions = {},
): AsyncGenerator<ThreadStreamEvent, void, undefined> {
  const source: Source<ThreadStreamEvent> = {
    name: `The stream of ${thread.threadId}`,
    isGapless: true,
    open: (last, signal) => {
      const body = { ...thread, lastSeq: last, deltas, background }
      return client.open(subscribeThread, { params: { agentId }, body }, { signal, maxRetries: 0 })
    },
    read,
    isLast: () => false,
  }
  return follow(source, after, { idleTimeoutMs, ...options })
}

/** Writes to an agent and gives the events of the run that answers, to its end. */
export function chatEvents(
  client: Client,
  agentId: string,
  message: Omit<ChatBody, 'stream' | 'waitSeconds'>,
  options: FollowOptions & Pick<CallOptions, 'idempotencyKey' | 'permission'> = {},
): AsyncGenerator<ThreadStreamEvent, void, undefined> {
  // Under the same key a repeat joins the run that the first has started.
  const { idempotencyKey = randomId(), permission, ...following } = options
  const body = { ...message, stream: true }
  const source: Source<ThreadStreamEvent> = {
    name: `The answer of ${agentId}`,
    // Of a thread in which others speak too it has only what belongs to the run.
    isGapless: false,
    open: (_, signal) =>
      client.open(chat, { params: { agentId }, body }, { signal, idempotencyKey, permission }),
    read,
    isLast: ({ type }) => type === 'run.finished',
  }
  return follow(source, undefined, { idleTimeoutMs, ...following })
}

function read(data: string): { event: ThreadStreamEvent; sequence: number | undefined } {
  const event = JSON.parse(data) as ThreadStreamEvent
  const sequence = 'sequence' in event ? event.sequence : undefined
  if (event.type === 'error' && sequence === undefined)
    throw new StreamError(event.payload.message, 'unknown')
  return { event, sequence }
}
