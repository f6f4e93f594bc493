import { Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { Nullable } from './shapes.ts'
import { ChatUsage, ThreadStreamEvent } from './thread-events.ts'
import { ChatRunId, ChatRunStatus, messageBytes, ThreadId } from './thread-records.ts'
import { longTexts } from './weight.ts'

const ResourceId = Type.String({ maxLength: 100, description: 'The workspace of the credential' })
const Message = Type.String({ minLength: 1, maxLength: messageBytes })
const MaxCost = Type.Number({
  exclusiveMinimum: 0,
  maximum: 1_000_000,
  description: 'In Ds, of the run that answers and all that it causes',
})
const Model = Type.String({ minLength: 1, maxLength: 200 })
const IfActive = Type.Enum(['deliver', 'queue', 'interrupt', 'reject'], {
  title: 'IfActive',
  description:
    'What happens while a run is active: deliver it to that run if it is of the same credential and agent, else queue; queue a run of its own; interrupt the active one; reject with 409',
})
const shared = { tag: 'threads', audience: 'credential', scopes: ['agent:message'] } as const
const AgentParam = Type.Object({ agentId: Type.String() })
const sending = {
  ifActive: Type.Optional(IfActive),
  maxCost: Type.Optional(MaxCost),
  model: Type.Optional(Model),
}
const sendErrors = ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT', 'INSUFFICIENT_CREDITS', 'RATE_LIMITED'] as const

export const messageRoutes = defineRoutes({
  sendMessage: {
    changes: [],
    ...shared,
    method: 'POST',
    path: '/api/v1/agents/:agentId/send-message',
    summary: 'Write to an agent; the answer comes on the stream of the thread',
    description:
      'Once this answers, the message is kept and will be read, whatever fails. Subscribe to the thread first. 402 only when it would start a run; 409 with ifActive reject, details.activeRunId says why; 429 when 20 runs wait in the thread, or 1,000 in the workspace.',
    resource: 'agents',
    verb: 'sendMessage',
    limits: ['rest'],
    creates: true,
    namesAgent: true,
    params: AgentParam,
    weight: longTexts,
    body: Type.Object({ resourceId: ResourceId, threadId: ThreadId, message: Message, ...sending }),
    responses: {
      202: Type.Object({
        accepted: Type.Literal(true),
        messageId: Type.String(),
        runId: ChatRunId,
        threadId: Type.String(),
        delivery: Type.Enum(['woke', 'delivered', 'queued']),
      }),
    },
    errors: sendErrors,
    example: {
      body: { resourceId: '0198c1f2-7c00-7000-8000-000000000001', threadId: 'support-1', message: 'Hello' },
      answers: {
        202: {
          accepted: true,
          messageId: 'msg_0198c1f2-7c00-7000-8000-0000000000aa',
          runId: 'chat_0198c1f2-7c00-7000-8000-0000000000bb',
          threadId: 'support-1',
          delivery: 'woke',
        },
      },
    },
  },
})

/** Answers that stay open, or may. */
export const threadStreamRoutes = defineRoutes({
  subscribeThread: {
    changes: [],
    ...shared,
    method: 'POST',
    path: '/api/v1/agents/:agentId/subscribe-thread',
    summary: 'Everything that happens in a thread, from now on or from any place on',
    description:
      'Never ends by itself; a heartbeat comes every 25 s. The first frame is thread.ready. To go on after a cut send lastSeq, the last id you have seen. With `background` false events from elsewhere do not look for this thread.',
    resource: 'agents',
    verb: 'subscribeThread',
    limits: ['stream'],
    params: AgentParam,
    body: Type.Object({
      resourceId: ResourceId,
      threadId: ThreadId,
      lastSeq: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_147_483_647 })),
      deltas: Type.Optional(Type.Boolean({ description: 'Also parts of replies as they come' })),
      background: Type.Optional(Type.Boolean()),
    }),
    answers: 'events',
    stream: ThreadStreamEvent,
    responses: { 200: ThreadStreamEvent },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
    example: {
      body: { resourceId: '0198c1f2-7c00-7000-8000-000000000001', threadId: 'support-1', lastSeq: 0 },
    },
  },
  chat: {
    changes: [],
    ...shared,
    method: 'POST',
    path: '/api/v1/chat/:agentId',
    summary: 'Write to an agent and get its answer, at once or as it comes',
    description:
      'With `stream` it answers the events of this run, to its end. Otherwise it answers when the run has ended, waits for a person, or waitSeconds are over; `status` says which, and the run goes on. A repeat under the same Idempotency-Key joins the same run. 402: add credits; 429 when 20 runs wait in the thread, or 1,000 in the workspace.',
    resource: 'chat',
    verb: 'send',
    limits: ['rest'],
    creates: true,
    namesAgent: true,
    params: AgentParam,
    weight: longTexts,
    body: Type.Object({
      message: Message,
      threadId: Type.Optional(ThreadId),
      stream: Type.Optional(Type.Boolean()),
      deltas: Type.Optional(Type.Boolean({ description: 'With stream: also parts of replies as they come' })),
      waitSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 300 })),
      ...sending,
    }),
    answers: 'either',
    stream: ThreadStreamEvent,
    responses: {
      200: Type.Object({
        threadId: Type.String(),
        runId: ChatRunId,
        status: ChatRunStatus,
        message: Nullable(Type.String({ description: 'What the agent said last' })),
        usage: ChatUsage,
        cost: Type.Number({ description: 'In Ds' }),
        stopReason: Nullable(Type.String()),
        errorCode: Nullable(Type.String()),
        workflowRuns: Type.Optional(Type.Array(Type.String())),
        approval: Type.Optional(Type.Object({ id: Type.String() })),
      }),
    },
    errors: sendErrors,
    example: {
      body: { message: 'What is 2 + 2?' },
      answers: {
        200: {
          threadId: 'thread_0198c1f2-7c00-7000-8000-0000000000cc',
          runId: 'chat_0198c1f2-7c00-7000-8000-0000000000bb',
          status: 'completed',
          message: '4',
          usage: { inputTokens: 40, outputTokens: 2 },
          cost: 0.2,
          stopReason: 'end_turn',
          errorCode: null,
        },
      },
    },
  },
})
