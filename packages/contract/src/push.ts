import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { IdParam, Name, Nullable, RowNumber, Success, Timestamp } from './shapes.ts'

/** How many browsers of one person are told, and how many agents of theirs may be silenced at once. */
export const pushSubscriptionsPerUser = 10
export const mutedKeysPerUser = 50

export const PushSubscription = Type.Object(
  {
    id: Type.String(),
    label: Nullable(Type.String({ description: 'What the person calls this browser' })),
    createdAt: Timestamp,
    deliveredAt: Nullable(Timestamp),
    failing: Type.Boolean({ description: 'Its push service has refused three messages in a row' }),
    current: Type.Boolean({ description: 'It was made in this session' }),
  },
  { title: 'PushSubscription' },
)
export type PushSubscription = Static<typeof PushSubscription>

const TimeOfDay = Type.String({ pattern: '^([01]\\d|2[0-3]):[0-5]\\d$', description: 'HH:MM' })
const TimeZone = Type.String({ minLength: 1, maxLength: 64, description: 'As in Europe/London' })
const Kind = Type.Enum(['consent', 'permission', 'workflow', 'budget', 'tool', 'ask'])

const Quiet = Type.Object({
  from: TimeOfDay,
  to: TimeOfDay,
  timezone: TimeZone,
  except: Type.Array(Kind, {
    maxItems: 6,
    uniqueItems: true,
    description: 'Kinds that are told all the same',
  }),
})
const Digest = Type.Object({ at: TimeOfDay, timezone: TimeZone })
const Muted = Type.Array(Type.Object({ apiKeyId: RowNumber, until: Timestamp }), {
  maxItems: mutedKeysPerUser,
  description: 'Agents that are not told of until then',
})
const ApprovalChoice = Type.Enum(['all', 'sensitive', 'none'], {
  description: 'sensitive: only what a passkey must confirm',
})

const settings = {
  approvals: ApprovalChoice,
  questions: Type.Boolean({ description: 'What runs of workflows ask' }),
  budget: Type.Boolean({ description: 'A key has reached its limit' }),
  quiet: Type.Union([Quiet, Type.Null()], {
    description: 'What comes in these hours is told in one message when they end',
  }),
  digest: Type.Union([Digest, Type.Null()], {
    description: 'That message comes at this time, and not when the quiet hours end',
  }),
  muted: Muted,
}

export const NotificationSettings = Type.Object(settings, { title: 'NotificationSettings' })
export type NotificationSettings = Static<typeof NotificationSettings>

export const pushRoutes = defineRoutes({
  subscribePush: {
    method: 'PUT',
    path: '/api/v1/push/subscriptions',
    summary: 'Have this browser told of what waits for the person',
    description:
      'Send what PushManager.subscribe gave, made with the key of `meta.push`. The same endpoint is the same subscription; it ends with the session. 409 beyond ten, and when another person has the endpoint.',
    resource: 'push',
    verb: 'subscribe',
    tag: 'push',
    audience: 'session',
    changes: ['push'],
    limits: ['rest'],
    body: Type.Object({
      endpoint: Type.String({ minLength: 1, maxLength: 2048 }),
      keys: Type.Object({
        p256dh: Type.String({ pattern: '^[A-Za-z0-9_-]{87}=?$' }),
        auth: Type.String({ pattern: '^[A-Za-z0-9_-]{22}(==)?$' }),
      }),
      label: Type.Optional(Name(100)),
    }),
    responses: { 200: Type.Object({ id: Type.String() }) },
    errors: ['INVALID_INPUT', 'CONFLICT', 'NOT_FOUND'],
    example: {
      body: {
        endpoint: 'https://fcm.googleapis.com/fcm/send/cX9',
        keys: {
          p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
          auth: 'BTBZMqHH6r4Tts7J_aSIgg',
        },
        label: 'Phone',
      },
      answers: { 200: { id: 'push_0198c1f2-7c00-7000-8000-0000000000c1' } },
    },
  },
  listPushSubscriptions: {
    method: 'GET',
    path: '/api/v1/push/subscriptions',
    summary: 'The browsers that are told',
    description: 'Neither endpoints nor keys are shown.',
    resource: 'push',
    verb: 'list',
    page: 'bare',
    tag: 'push',
    audience: 'session',
    limits: ['rest'],
    responses: { 200: Type.Array(PushSubscription) },
    errors: [],
  },
  removePushSubscription: {
    method: 'DELETE',
    path: '/api/v1/push/subscriptions/:id',
    summary: 'Tell a browser no more',
    description: 'What was due to it is dropped.',
    resource: 'push',
    verb: 'remove',
    tag: 'push',
    audience: 'session',
    changes: ['push'],
    limits: ['rest'],
    params: IdParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
  testPushSubscription: {
    method: 'POST',
    path: '/api/v1/push/subscriptions/:id/test',
    summary: 'Send a browser a message that asks for nothing',
    description:
      'It comes within seconds, quiet hours or not; asked again before it is sent, it is sent once.',
    resource: 'push',
    verb: 'test',
    tag: 'push',
    audience: 'session',
    changes: [],
    limits: ['rest'],
    params: IdParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
  getNotificationSettings: {
    method: 'GET',
    path: '/api/v1/profile/notifications',
    summary: 'What the person wants to be told of, and when not',
    description: 'Whoever has changed nothing is told of everything at any hour.',
    resource: 'profile',
    verb: 'notifications',
    tag: 'push',
    audience: 'session',
    limits: ['rest'],
    responses: { 200: NotificationSettings },
    errors: [],
  },
  updateNotificationSettings: {
    method: 'PATCH',
    path: '/api/v1/profile/notifications',
    summary: 'Change what the person is told of',
    description:
      'What is left out stays. 400 for a time zone that does not exist, and for quiet hours that begin when they end.',
    resource: 'profile',
    verb: 'updateNotifications',
    tag: 'push',
    audience: 'session',
    changes: ['profile'],
    limits: ['rest'],
    body: Type.Object({
      approvals: Type.Optional(settings.approvals),
      questions: Type.Optional(settings.questions),
      budget: Type.Optional(settings.budget),
      quiet: Type.Optional(settings.quiet),
      digest: Type.Optional(settings.digest),
      muted: Type.Optional(settings.muted),
    }),
    responses: { 200: NotificationSettings },
    errors: ['INVALID_INPUT'],
    example: {
      body: { quiet: { from: '22:00', to: '07:00', timezone: 'Europe/London', except: ['budget'] } },
    },
  },
})
