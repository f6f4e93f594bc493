import { type Static, Type } from 'typebox'

const Empty = Type.Object({})

/** A piece of a message. Text is the only kind so far. */
export const ContentBlock = Type.Object(
  { type: Type.Literal('text'), text: Type.String() },
  { title: 'ContentBlock' },
)
export type ContentBlock = Static<typeof ContentBlock>
const Content = Type.Array(ContentBlock)

export const StopReason = Type.Enum(['end_turn', 'interrupt', 'limit_reached', 'error'])
export type StopReason = Static<typeof StopReason>

/** What an agent says beside its messages; `kind` tells them apart. */
export const AgentInfo = Type.Union(
  [
    Type.Object({
      kind: Type.Literal('file', { description: 'A file has been kept' }),
      name: Type.String(),
      mimeType: Type.String(),
      sizeBytes: Type.Integer(),
      artifactId: Type.String(),
      url: Type.String({ description: 'A path that answers its content' }),
    }),
    Type.Object({ kind: Type.Literal('json'), data: Type.Unknown() }),
    Type.Object({
      kind: Type.Literal('retry', { description: 'The model is asked again' }),
      reason: Type.String(),
      attempt: Type.Integer(),
      retryInMs: Type.Number(),
      voidsText: Type.Boolean({ description: 'The deltas since the last event are void' }),
    }),
    Type.Object({
      kind: Type.Literal('fallback', { description: 'Another model is asked, the one before cannot answer' }),
      from: Type.String(),
      to: Type.String(),
      reason: Type.String(),
      voidsText: Type.Boolean({ description: 'The deltas since the last event are void' }),
    }),
    Type.Object({
      kind: Type.Literal('files-left-out', { description: 'Too many or too large to be kept' }),
      paths: Type.Array(Type.String(), { description: 'Of those that were looked at, the first 50' }),
      others: Type.Optional(Type.Integer({ description: 'How many more there are at least' })),
    }),
  ],
  { title: 'AgentInfo' },
)
export type AgentInfo = Static<typeof AgentInfo>

/** What an execution's log holds: each type and its payload. All of it is kept and replayed. */
export const executionEventPayloads = {
  'user.message': Type.Object({ content: Content }),
  'user.interrupt': Empty,
  'session.status_running': Empty,
  /** Exactly one per execution, always the last event. */
  'session.status_idle': Type.Object({
    stop_reason: Type.Object({ type: StopReason, code: Type.Optional(Type.String()) }),
  }),
  'agent.message': Type.Object({ content: Content }),
  'agent.thinking': Empty,
  'agent.info': AgentInfo,
  'agent.tool_use': Type.Object({
    name: Type.String(),
    tool: Type.String(),
    label: Type.String(),
    toolUseId: Type.Optional(Type.String()),
    input: Type.Optional(
      Type.String({ description: 'As JSON; cut after 4 KiB, with secrets of this service taken out' }),
    ),
  }),
  'agent.tool_result': Type.Object({
    toolUseId: Type.String(),
    isError: Type.Boolean(),
    summary: Type.String(),
    output: Type.Optional(
      Type.String({ description: 'Cut after 4 KiB, with secrets of this service taken out' }),
    ),
  }),
  'execution.cost': Type.Object({ cost: Type.Number({ description: 'Running total, in Ds' }) }),
  'execution.result': Type.Object({
    summary: Type.String(),
    cost: Type.Number(),
    tokenUsage: Type.Object({ inputTokens: Type.Integer(), outputTokens: Type.Integer() }),
  }),
  'span.model_request_end': Type.Object({
    usage: Type.Object({ input_tokens: Type.Integer(), output_tokens: Type.Integer() }),
    model: Type.Optional(Type.String()),
    durationMs: Type.Optional(Type.Integer({ description: 'From the question to the whole reply' })),
  }),
}

export type ExecutionEventType = keyof typeof executionEventPayloads

type EventOf<T extends ExecutionEventType> = {
  readonly type: T
  readonly payload: Static<(typeof executionEventPayloads)[T]>
}

/** An event as its producer gives it; the log adds `id` and `sequence`. Whoever informs may invent kinds. */
export type NewExecutionEvent =
  | { [T in Exclude<ExecutionEventType, 'agent.info'>]: EventOf<T> }[Exclude<
      ExecutionEventType,
      'agent.info'
    >]
  | { readonly type: 'agent.info'; readonly payload: Readonly<Record<string, unknown>> }

/** An event as answers and frames carry it. */
export type ExecutionEvent = { [T in ExecutionEventType]: EventOf<T> }[ExecutionEventType] & {
  readonly id: string
  readonly sequence: number
}
export const ExecutionEvent = Type.Unsafe<ExecutionEvent>(
  Type.Intersect(
    [
      Type.Object({
        id: Type.String(),
        sequence: Type.Integer({ minimum: 1, description: 'From 1, without gaps within an execution' }),
      }),
      Type.Union(
        Object.entries(executionEventPayloads).map(([type, payload]) =>
          Type.Object({ type: Type.Literal(type), payload }),
        ),
      ),
    ],
    { title: 'ExecutionEvent' },
  ),
)

/**
 * Sent live to readers that ask for `deltas=1`, without an id, and never kept: the `agent.message` that
 * follows is whole.
 */
export const messageDeltaType = 'agent.message_delta'

/** What a frame of an execution's stream carries. */
export const ExecutionStreamEvent = Type.Union(
  [
    ExecutionEvent,
    Type.Object({
      type: Type.Literal(messageDeltaType, { description: 'Only with deltas=1; never repeated' }),
      payload: Type.Object({ text: Type.String() }),
    }),
  ],
  { title: 'ExecutionStreamEvent' },
)
export type ExecutionStreamEvent = Static<typeof ExecutionStreamEvent>

const sequence = Type.Integer({ description: 'Of the event it began with' })

/** The log as somebody reads it who only wants to know what came out. */
export const OutputBlock = Type.Union(
  [
    Type.Object({ sequence, type: Type.Literal('text'), text: Type.String() }),
    Type.Object({
      sequence,
      type: Type.Literal('tool'),
      name: Type.String(),
      label: Type.String(),
      status: Type.Enum(['running', 'success', 'error']),
    }),
    Type.Object({
      sequence,
      type: Type.Literal('file'),
      name: Type.String(),
      mimeType: Type.String(),
      sizeBytes: Type.Integer(),
      url: Type.String(),
    }),
    Type.Object({ sequence, type: Type.Literal('json'), data: Type.Unknown() }),
    Type.Object({ sequence, type: Type.Literal('error'), code: Type.String(), message: Type.String() }),
  ],
  { title: 'OutputBlock' },
)
export type OutputBlock = Static<typeof OutputBlock>

export const streamUrlLifetimeMs = 60_000
