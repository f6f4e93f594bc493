import { type Static, Type } from 'typebox'
import { Key, recentSpend } from './keys.ts'
import { defineRoutes } from './route.ts'
import { Extended, IdParam, Nullable, Success, Timestamp } from './shapes.ts'

/** What a person let a key do for a time, while it can be used. */
export const KeyGrant = Type.Object(
  {
    id: Type.Number(),
    scope: Type.String(),
    mode: Type.Enum(['session', 'one_time']),
    createdAt: Timestamp,
    expiresAt: Timestamp,
    requestId: Nullable(
      Type.String({ description: 'What was approved; null for what came with the pairing' }),
    ),
    bound: Type.Union(
      [
        Type.Object({
          method: Type.String(),
          path: Type.String(),
          bodySha256: Nullable(Type.String({ description: 'Null where it fits any body' })),
        }),
        Type.Null(),
      ],
      { description: 'The one request that it is good for' },
    ),
  },
  { title: 'KeyGrant' },
)
export type KeyGrant = Static<typeof KeyGrant>

const Amount = Type.Number({ description: 'In Ds' })

/** A key with all that it may do and does at this moment. */
export const KeyDetail = Extended(Key, 'KeyDetail', {
  spend: Type.Object({
    total: Amount,
    limit: Nullable(Type.Number({ description: 'In Ds; null for none' })),
    period: Type.Enum(['total'], { description: 'What the limit is for: all that the key ever spends' }),
    ...recentSpend,
    reserved: Type.Number({ description: 'In Ds, set aside for what runs' }),
  }),
  grants: Type.Array(KeyGrant),
  running: Type.Array(
    Type.Object({
      executionId: Type.String(),
      skillName: Type.String(),
      cost: Amount,
      startedAt: Nullable(Timestamp),
      lastSequence: Type.Number(),
    }),
    { description: 'Executions that work, the oldest first, at most 100' },
  ),
  runs: Type.Array(
    Type.Object({
      runId: Type.String(),
      name: Type.String({ description: 'The slug of the workflow' }),
      status: Type.Enum(['running', 'suspended']),
    }),
    { description: 'Runs of workflows that have not ended, the oldest first, at most 100' },
  ),
  chats: Type.Array(
    Type.Object({
      runId: Type.String(),
      threadId: Type.String(),
      agentSlug: Type.String(),
      status: Type.Enum(['queued', 'working', 'waiting']),
    }),
    { description: 'Replies that agents are at, or have in front of them, the oldest first, at most 100' },
  ),
  pending: Type.Number({ description: 'How many requests of it wait for a person' }),
  oldSecretUntil: Nullable(
    Type.String({ format: 'date-time', description: 'Until when the secret before the last rotation works' }),
  ),
})
export type KeyDetail = Static<typeof KeyDetail>

/** One key, looked at closely. */
export const oneKeyRoutes = defineRoutes({
  getKey: {
    method: 'GET',
    path: '/api/v1/keys/:id',
    summary: 'One key: what it may do for a while, what it runs and what it has spent',
    description:
      'Read from the database each time. 404 for a key that is not yours, and for one that has ended.',
    resource: 'keys',
    verb: 'get',
    tag: 'keys',
    audience: 'session',
    limits: ['rest'],
    params: IdParam,
    responses: { 200: KeyDetail },
    errors: ['NOT_FOUND'],
  },
  endGrant: {
    method: 'DELETE',
    path: '/api/v1/keys/:id/grants/:grantId',
    summary: 'End one permission for a time; others of the same scope stay',
    description: 'Works at once, in every process. 404 when it was used up or is over already.',
    resource: 'keys',
    verb: 'endGrant',
    tag: 'keys',
    audience: 'session',
    changes: ['keys'],
    limits: ['rest'],
    params: Type.Object({ id: Type.String(), grantId: Type.String() }),
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
})
