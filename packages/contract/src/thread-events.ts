import { type Static, Type } from 'typebox'
import { messageDeltaType, StopReason } from './execution-events.ts'
import { Notification } from './notifications.ts'
import { Nullable, Timestamp } from './shapes.ts'

/** Who wrote a message, and through what. */
export const MessageAuthor = Type.Object(
  {
    userId: Type.String(),
    apiKeyId: Nullable(Type.Number()),
    oauthGrantId: Type.Optional(Type.Number({ description: 'The grant of the app that wrote it' })),
    agentSlug: Type.Optional(Type.String({ description: 'What the agent calls itself that wrote it' })),
  },
  { title: 'MessageAuthor' },
)
export type MessageAuthor = Static<typeof MessageAuthor>

/** How many tokens a run has taken in and given. */
export const ChatUsage = Type.Object(
  { inputTokens: Type.Integer(), outputTokens: Type.Integer() },
  { title: 'ChatUsage' },
)
export type ChatUsage = Static<typeof ChatUsage>

const readThrough = Type.Integer({
  description: 'The last message that had been read when this was said: one may come while an agent speaks',
})

/** What a thread's log holds: each type and its payload. All of it is kept and replayed. */
export const threadEventPayloads = {
  'user.message': Type.Object({
    messageId: Type.String(),
    content: Type.String(),
    author: MessageAuthor,
  }),
  'run.started': Type.Object({
    agentId: Type.String(),
    agentVersion: Type.Integer(),
    model: Type.String(),
    answers: Type.Array(Type.String(), { description: 'The ids of the messages that it was started for' }),
  }),
  'agent.message': Type.Object({ messageId: Type.String(), content: Type.String(), readThrough }),
  'agent.thinking': Type.Object({}),
  'agent.tool_use': Type.Object({
    toolUseId: Type.String(),
    name: Type.String(),
    label: Type.String(),
    input: Type.String({ description: 'As JSON; cut after 4 KiB' }),
    readThrough,
  }),
  'agent.tool_result': Type.Object({
    toolUseId: Type.String(),
    isError: Type.Boolean(),
    summary: Type.String({ description: 'The beginning of what the tool gave' }),
    truncated: Type.Boolean(),
    sizeBytes: Type.Integer(),
  }),
  'approval.required': Type.Object({
    approvalId: Type.String(),
    kind: Type.Enum(['permission', 'tool', 'budget']),
    toolUseId: Type.String(),
    scope: Type.Optional(Type.String()),
    summary: Type.String(),
    expiresAt: Timestamp,
  }),
  'run.cost': Type.Object({
    cost: Type.Number({ description: 'Of the run so far, in Ds' }),
    limit: Nullable(Type.Number({ description: 'What it may cost at most, in Ds' })),
  }),
  'thread.compacted': Type.Object({
    throughSequence: Type.Integer(),
    keeps: Type.Array(Type.Integer(), {
      description: 'Events up to there that the summary does not stand for',
    }),
    summary: Type.String(),
    tokensBefore: Type.Integer(),
    tokensAfter: Type.Integer(),
    ordinal: Type.Integer({ description: 'Which of those that its run had written' }),
    author: Type.Optional(MessageAuthor),
  }),
  /** Exactly one per run, always the last event of that run. */
  'run.finished': Type.Object({
    status: Type.Enum(['completed', 'failed']),
    stop_reason: Type.Object({ type: StopReason, code: Type.Optional(Type.String()) }),
    usage: ChatUsage,
    cost: Type.Number({ description: 'In Ds' }),
    model: Nullable(Type.String()),
    workflowRuns: Type.Optional(Type.Array(Type.String())),
  }),
  /** The record of a notification. */
  notification: Notification,
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    recovered: Type.Optional(Type.Boolean({ description: 'The run goes on' })),
  }),
}

export type ThreadEventType = keyof typeof threadEventPayloads

type EventOf<T extends ThreadEventType> = {
  readonly type: T
  readonly payload: Static<(typeof threadEventPayloads)[T]>
}

/** An event as its producer gives it; the log adds the rest. `runId` is the run's in the log, without its prefix. */
export type NewThreadEvent = { [T in ThreadEventType]: EventOf<T> }[ThreadEventType] & {
  readonly runId?: string | null
}

/** An event as frames carry it. */
export type ThreadEvent = { [T in ThreadEventType]: EventOf<T> }[ThreadEventType] & {
  readonly id: string
  readonly sequence: number
  readonly threadId: string
  readonly runId?: string
  readonly at: string
}
export const ThreadEvent = Type.Unsafe<ThreadEvent>(
  Type.Intersect(
    [
      Type.Object({
        id: Type.String(),
        sequence: Type.Integer({ minimum: 1, description: 'From 1, without gaps within a thread' }),
        threadId: Type.String(),
        runId: Type.Optional(Type.String({ description: 'The run that it belongs to, if it does to one' })),
        at: Timestamp,
      }),
      Type.Union(
        Object.entries(threadEventPayloads).map(([type, payload]) =>
          Type.Object({ type: Type.Literal(type), payload }),
        ),
      ),
    ],
    { title: 'ThreadEvent' },
  ),
)

/** The first frame of a subscription. It is not kept; its id is where the stream goes on, so a cut right after it is none. */
export const threadReadyType = 'thread.ready'

/** What a frame of a thread's stream carries. */
export const ThreadStreamEvent = Type.Union(
  [
    ThreadEvent,
    Type.Object({
      id: Type.String(),
      type: Type.Literal(threadReadyType, { description: 'The first of a subscription; not kept' }),
      sequence: Type.Integer({ description: 'After which the stream goes on' }),
      threadId: Type.String(),
      at: Timestamp,
      payload: Type.Object({ lastSequence: Type.Integer(), activeRunId: Nullable(Type.String()) }),
    }),
    Type.Object({
      type: Type.Literal(messageDeltaType, { description: 'Only with deltas; never repeated' }),
      threadId: Type.String(),
      runId: Type.String(),
      payload: Type.Object({ text: Type.String() }),
    }),
    Type.Object({
      type: Type.Literal('error', { description: 'To this stream alone, before it ends; not kept' }),
      payload: Type.Object({ code: Type.Literal('TOO_MANY_STREAMS'), message: Type.String() }),
    }),
  ],
  { title: 'ThreadStreamEvent' },
)
export type ThreadStreamEvent = Static<typeof ThreadStreamEvent>
