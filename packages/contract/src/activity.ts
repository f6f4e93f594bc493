import { Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { Limit, Nullable, RowNumber, Timestamp, WorkspaceRef } from './shapes.ts'

const Entry = Type.Object({
  id: Type.String(),
  type: Type.String({ description: 'What happened, e.g. key.created, permission.granted' }),
  at: Timestamp,
  actor: Type.Object({
    kind: Type.Enum(['session', 'key', 'oauth', 'anonymous']),
    userId: Nullable(Type.String()),
    apiKeyId: Nullable(Type.Number()),
  }),
  workspace: Type.Union([WorkspaceRef, Type.Null()]),
  details: Type.Record(Type.String(), Type.Any()),
})

export const activityRoutes = defineRoutes({
  listActivity: {
    method: 'GET',
    path: '/api/v1/activity',
    summary: 'What happened in this workspace, newest first; never changed afterwards',
    tag: 'activity',
    audience: 'credential',
    limits: ['rest'],
    query: Type.Object({
      type: Type.Optional(Type.String({ maxLength: 64 })),
      actor: Type.Optional(Type.String({ maxLength: 64, description: 'A user id' })),
      apiKey: Type.Optional(RowNumber),
      since: Type.Optional(Type.String({ maxLength: 40 })),
      until: Type.Optional(Type.String({ maxLength: 40 })),
      limit: Limit(200),
      cursor: Type.Optional(Type.String({ maxLength: 300 })),
    }),
    responses: { 200: Type.Object({ items: Type.Array(Entry), nextCursor: Nullable(Type.String()) }) },
    errors: ['INVALID_INPUT'],
  },
})
