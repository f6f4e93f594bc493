import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { Limit, Nullable, RowNumber, Timestamp, WorkspaceRef } from './shapes.ts'

/**
 * All that the audit log tells. The list is closed, so that a line nobody thought of does not compile, and whoever reads
 * the log knows what to expect.
 */
export const activityTypes = [
  'activation.approved',
  'activation.denied',
  'agent.created',
  'agent.deleted',
  'agent.updated',
  'artifact.deleted',
  'ask.answered',
  'ask.denied',
  'budget.denied',
  'budget.granted',
  'consent.denied',
  'consent.granted',
  'credits.adjusted',
  'credits.charged',
  'credits.granted',
  'credits.refunded',
  'execution.canceled',
  'execution.started',
  'grant.ended',
  'invitation.accepted',
  'invitation.created',
  'invitation.declined',
  'invitation.withdrawn',
  'key.created',
  'key.leak_reported',
  'key.revoked',
  'key.rotated',
  'key.updated',
  'member.added',
  'member.removed',
  'oauth_client.created',
  'oauth_client.deleted',
  'oauth_grant.allowed',
  'oauth_grant.denied',
  'oauth_grant.revoked',
  'passkey.added',
  'passkey.invited',
  'passkey.recovery_codes_made',
  'passkey.removed',
  'passkey.reset',
  'passkey.reset_asked',
  'passkey.reset_canceled',
  'permission.denied',
  'permission.granted',
  'provider_key.removed',
  'provider_key.stored',
  'scope.removed',
  'session.signed_in',
  'session.signed_out',
  'skill.installed',
  'skill.uninstalled',
  'skill.updated',
  'tool.allowed',
  'tool.denied',
  'trace.turn_erased',
  'workflow.answer_withdrawn',
  'workflow.answered',
  'workflow.canceled',
  'workflow.installed',
  'workflow.launch_failed',
  'workflow.launched',
  'workflow.uninstalled',
  'workflow.updated',
  'workspace.created',
] as const
export type ActivityType = (typeof activityTypes)[number]

export const ActivityEntry = Type.Object(
  {
    id: Type.String(),
    type: Type.Enum(activityTypes, { description: 'What happened' }),
    at: Timestamp,
    actor: Type.Object({
      kind: Type.Enum(['session', 'key', 'oauth', 'anonymous', 'operator']),
      userId: Nullable(Type.String()),
      apiKeyId: Nullable(Type.Number()),
    }),
    workspace: Type.Union([WorkspaceRef, Type.Null()]),
    details: Type.Record(Type.String(), Type.Any()),
  },
  { title: 'ActivityEntry' },
)
export type ActivityEntry = Static<typeof ActivityEntry>

export const activityRoutes = defineRoutes({
  listActivity: {
    method: 'GET',
    path: '/api/v1/activity',
    summary:
      'What happened in this workspace, newest first; never changed afterwards. A key without full access sees what it did itself',
    description: 'Filter by type, person, key and time; the types are a closed list.',
    resource: 'activity',
    verb: 'list',
    page: 'cursor',
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
    responses: {
      200: Type.Object({ items: Type.Array(ActivityEntry), nextCursor: Nullable(Type.String()) }),
    },
    errors: ['INVALID_INPUT'],
  },
})
