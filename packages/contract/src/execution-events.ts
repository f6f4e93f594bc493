import { type Static, Type } from 'typebox'

const Empty = Type.Object({})
const Content = Type.Array(Type.Object({ type: Type.String(), text: Type.Optional(Type.String()) }))

export const StopReason = Type.Enum(['end_turn', 'interrupt', 'limit_reached', 'error'])
export type StopReason = Static<typeof StopReason>

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
  'agent.info': Type.Record(Type.String(), Type.Unknown()),
  'agent.tool_use': Type.Object({
    name: Type.String(),
    tool: Type.String(),
    label: Type.String(),
    toolUseId: Type.Optional(Type.String()),
  }),
  'agent.tool_result': Type.Object({
    toolUseId: Type.String(),
    isError: Type.Boolean(),
    summary: Type.String(),
  }),
  'execution.cost': Type.Object({ cost: Type.Number({ description: 'Running total, in Ds' }) }),
  'execution.result': Type.Object({
    summary: Type.String(),
    cost: Type.Number(),
    tokenUsage: Type.Object({ inputTokens: Type.Integer(), outputTokens: Type.Integer() }),
  }),
  'span.model_request_end': Type.Object({
    usage: Type.Object({ input_tokens: Type.Integer(), output_tokens: Type.Integer() }),
  }),
}

type ExecutionEventType = keyof typeof executionEventPayloads

/** An event as its producer gives it; the log adds `id` and `sequence`. */
export type NewExecutionEvent = {
  [T in ExecutionEventType]: {
    readonly type: T
    readonly payload: Static<(typeof executionEventPayloads)[T]>
  }
}[ExecutionEventType]

/** An event as answers and frames carry it. */
export const ExecutionEvent = Type.Object({
  id: Type.String(),
  type: Type.String(),
  sequence: Type.Integer({ description: 'From 1, without gaps within an execution' }),
  payload: Type.Record(Type.String(), Type.Unknown()),
})

/**
 * Sent live to readers that ask for `deltas=1`, without an id, and never kept: the `agent.message` that
 * follows is whole.
 */
export const messageDeltaType = 'agent.message_delta'

export const streamUrlLifetimeMs = 60_000
