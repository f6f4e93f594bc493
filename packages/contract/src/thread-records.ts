import { type Static, Type } from 'typebox'
import { Nullable, Timestamp } from './shapes.ts'
import { ChatUsage, MessageAuthor } from './thread-events.ts'

/** Of a workspace, and of the runs that wait their turn in one thread. */
export const threadLimits = { perWorkspace: 100_000, queuedPerThread: 20, queuedPerWorkspace: 1000 } as const
/** Of one message, in bytes of UTF-8. */
export const messageBytes = 102_400
export const chatHeartbeatMs = 25_000
export const chatTimeoutSeconds = 65 * 60

export const threadIdPattern = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/
export const ThreadId = Type.String({
  pattern: threadIdPattern.source,
  description: 'A name of your own choice, or the id of a thread; the first use makes the thread',
})
export const ThreadVisibility = Type.Enum(['workspace', 'private'])
export const OnNotification = Type.Enum(['record', 'wake'])
export const ChatRunStatus = Type.Enum(['queued', 'working', 'waiting', 'completed', 'failed'], {
  title: 'ChatRunStatus',
})
export const ChatRunId = Type.String({ description: 'chat_<uuid>' })

export const Thread = Type.Object(
  {
    id: Type.String(),
    agentId: Type.String(),
    title: Type.String(),
    visibility: ThreadVisibility,
    onNotification: OnNotification,
    status: Type.Enum(['idle', 'queued', 'working', 'waiting']),
    activeRunId: Nullable(ChatRunId),
    lastSequence: Type.Integer(),
    unseen: Type.Integer({ description: 'Notifications that nobody has seen yet; counted up to 100' }),
    traceId: Nullable(Type.String({ description: 'A private thread, and one without a run, has none' })),
    cost: Type.Number({ description: 'Of all its runs, in Ds' }),
    createdAt: Timestamp,
    lastActivityAt: Timestamp,
  },
  { title: 'Thread' },
)
export type Thread = Static<typeof Thread>

export const ThreadMessage = Type.Object(
  {
    id: Type.String(),
    role: Type.Enum(['user', 'agent']),
    content: Type.String(),
    runId: Nullable(ChatRunId),
    author: Type.Union([MessageAuthor, Type.Null()], { description: 'Null for what an agent said' }),
    sequence: Type.Integer(),
    at: Timestamp,
  },
  { title: 'ThreadMessage' },
)
export type ThreadMessage = Static<typeof ThreadMessage>

export const ChatRun = Type.Object(
  {
    runId: ChatRunId,
    threadId: Type.String(),
    agentId: Type.String(),
    agentVersion: Type.Integer(),
    status: ChatRunStatus,
    stopReason: Nullable(Type.String({ description: 'end_turn, interrupt, limit_reached or error' })),
    errorCode: Nullable(Type.String()),
    model: Nullable(Type.String()),
    usage: ChatUsage,
    cost: Type.Number({ description: 'So far, in Ds' }),
    delegated: Type.Number({
      description: 'In Ds: what the agents and skills cost that it had work for it, beside `cost`',
    }),
    waitsFor: Type.Union([
      Type.Object({
        kind: Type.Enum(['approval', 'execution', 'run']),
        id: Type.String(),
        until: Nullable(Timestamp),
      }),
      Type.Null(),
    ]),
    createdAt: Timestamp,
    startedAt: Nullable(Timestamp),
    completedAt: Nullable(Timestamp),
    tainted: Type.Boolean({ description: 'Whether it has read anything from outside' }),
  },
  { title: 'ChatRun' },
)
export type ChatRun = Static<typeof ChatRun>
