import { type Static, type TProperties, Type } from 'typebox'
import { ApprovalKind } from './approvals.ts'
import { type ChangeKind, changeKinds } from './changes.ts'
import { defineRoutes } from './route.ts'
import { RunStatus } from './run-events.ts'
import { Nullable, Timestamp } from './shapes.ts'

const execution = { executionId: Type.String(), skillSlug: Type.String() }
const end = {
  ...execution,
  status: Type.String(),
  stopReason: Nullable(Type.String({ description: 'end_turn, interrupt, limit_reached or error' })),
  cost: Type.Number(),
}
const approval = {
  approvalId: Type.String(),
  kind: ApprovalKind,
}
const says = <const T extends string, P extends TProperties>(type: T, fields: P) =>
  Type.Object({ type: Type.Literal(type), ...fields })

/** What a control-plane socket says: bare JSON objects, never replayed; refetch after a reconnect. */
export const LiveEvent = Type.Intersect(
  [
    Type.Object({
      id: Type.String({ description: 'Of this event, not of what it is about' }),
      workspaceId: Type.String(),
      at: Timestamp,
    }),
    Type.Union([
      says('cache-invalidate', {
        keys: Type.Array(
          Type.Enum(Object.keys(changeKinds) as ChangeKind[], {
            description: 'What to read again, by the resource that its routes belong to',
          }),
        ),
        ids: Type.Array(Type.String({ description: 'A slug; none where all may have changed' })),
      }),
      says('execution-started', { ...execution, status: Type.Literal('working') }),
      says('execution-progress', { ...execution, cost: Type.Number({ description: 'So far, in Ds' }) }),
      says('execution-completed', end),
      says('execution-failed', end),
      says('approval-requested', approval),
      says('approval-resolved', { ...approval, status: Type.Enum(['granted', 'denied', 'expired']) }),
      says('notification', {
        notificationId: Type.String(),
        threadId: Type.String(),
        kind: Type.String(),
      }),
      says('thread-updated', { threadId: Type.String(), sequence: Type.Integer() }),
      says('workflow-run-updated', { runId: Type.String(), workflowId: Type.String(), status: RunStatus }),
    ]),
  ],
  { title: 'LiveEvent' },
)
export type LiveEvent = Static<typeof LiveEvent>

/** That the connection is alive, for whoever cannot see pings and asked for it with beats=1. */
export const SocketBeat = Type.Object({ type: Type.Literal('beat') }, { title: 'SocketBeat' })
export type SocketBeat = Static<typeof SocketBeat>

export const liveRoutes = defineRoutes({
  getSubscribeUrl: {
    method: 'GET',
    path: '/api/v1/events/subscribe-url',
    summary: "A single-use address of this credential's event socket",
    description:
      'Connect a WebSocket to it within five minutes. Each message is one LiveEvent; none is repeated, so read what you show again after every reconnect. Add beats=1 to the address to be told {"type":"beat"} every 25 seconds, where pings cannot be seen. Close codes: 4001 the credential ended, 4008 too many sockets, 1012 reconnect.',
    resource: 'events',
    verb: 'subscribeUrl',
    tag: 'events',
    audience: 'credential',
    socket: Type.Union([LiveEvent, SocketBeat]),
    limits: ['rest'],
    responses: { 200: Type.Object({ url: Type.String(), expiresInMs: Type.Number() }) },
    errors: [],
    example: {
      answers: { 200: { url: 'wss://example.com/api/v1/events/socket?token=…', expiresInMs: 300_000 } },
    },
  },
})
