import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { AnyFields, IdParam, Limit, Nullable, Success, Timestamp } from './shapes.ts'

const Status = Type.Enum(['pending', 'delivered', 'seen', 'dismissed'], {
  title: 'NotificationStatus',
  description: 'delivered: somebody listened to the thread, or has read it here',
})

export const Notification = Type.Object(
  {
    id: Type.String(),
    threadId: Type.String(),
    resourceId: Type.String({ description: 'The workspace' }),
    agentId: Type.String(),
    source: Type.String({ description: 'Where it comes from: workflow, approval, execution or handover' }),
    kind: Type.String({
      description:
        'workflow.completed, workflow.failed, workflow.suspended, workflow.canceled, approval.resolved, execution.completed, execution.failed (of a skill that the thread no longer waits for) or trace.picked_up; more may come',
    }),
    priority: Type.Enum(['low', 'medium', 'high', 'urgent']),
    status: Status,
    summary: Type.String(),
    payload: AnyFields,
    dedupeKey: Type.String({
      description: 'Of a workflow: <runId>:<status>; of anything else its id in place of the run',
    }),
    revision: Type.Integer({
      description: 'Rises when the same thing happens again, as a second pause of a run',
    }),
    sequence: Type.Integer({ description: "Of the event in the thread's log that told it last" }),
    createdAt: Timestamp,
    deliveredAt: Type.Optional(Timestamp),
    seenAt: Type.Optional(Timestamp),
  },
  { title: 'Notification' },
)
export type Notification = Static<typeof Notification>

const shared = {
  tag: 'notifications',
  audience: 'credential',
  scopes: ['agent:message'],
  limits: ['rest'],
} as const
const listing = {
  page: 'cursor',
  query: Type.Object({
    status: Type.Optional(Status),
    limit: Limit(200),
    cursor: Type.Optional(Type.String({ maxLength: 300 })),
  }),
  responses: { 200: Type.Object({ items: Type.Array(Notification), nextCursor: Nullable(Type.String()) }) },
} as const

export const notificationRoutes = defineRoutes({
  listNotifications: {
    ...shared,
    ...listing,
    method: 'GET',
    path: '/api/v1/notifications',
    summary: 'What happened that concerns conversations of this workspace, newest first',
    description:
      'What is pending becomes delivered by being read here. Go on with nextCursor until it is null.',
    resource: 'notifications',
    verb: 'list',
    errors: ['INVALID_INPUT'],
  },
  listThreadNotifications: {
    ...shared,
    ...listing,
    tag: 'threads',
    method: 'GET',
    path: '/api/v1/threads/:id/notifications',
    summary: 'What happened that concerns one conversation, newest first',
    description: 'As the list of the workspace. 404 also for a private thread of somebody else.',
    resource: 'notifications',
    verb: 'listOfThread',
    params: IdParam,
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
  },
  seeThreadNotifications: {
    changes: [],
    ...shared,
    tag: 'threads',
    method: 'POST',
    path: '/api/v1/threads/:id/notifications/seen',
    summary: 'Say that all notifications of a thread were seen',
    description: 'With `through` those up to that sequence of its log; dismissed ones stay so.',
    resource: 'notifications',
    verb: 'seeAll',
    params: IdParam,
    optionalBody: true,
    body: Type.Object({ through: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_147_483_647 })) }),
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
    example: { body: { through: 12 } },
  },
  seeNotification: {
    changes: [],
    ...shared,
    method: 'POST',
    path: '/api/v1/notifications/:id/seen',
    summary: 'Say that a notification was seen',
    description: 'Again is as good as once. One that happens again is open again.',
    resource: 'notifications',
    verb: 'see',
    params: IdParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
  dismissNotification: {
    changes: [],
    ...shared,
    method: 'POST',
    path: '/api/v1/notifications/:id/dismiss',
    summary: 'Put a notification away',
    description: 'Again is as good as once. One that happens again is open again.',
    resource: 'notifications',
    verb: 'dismiss',
    params: IdParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
})
