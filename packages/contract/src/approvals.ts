import { Type } from 'typebox'
import { Action, GrantModeSchema, KeyFacts, RequestedScope } from './consent.ts'
import { defineRoutes } from './route.ts'
import { IdParam, Nullable, Timestamp, WorkspaceRef } from './shapes.ts'

const Kind = Type.Enum(['activation', 'consent', 'permission', 'workflow', 'budget'])
const ApprovalStatus = Type.Enum(['pending', 'granted', 'denied', 'expired'])

const Approval = Type.Object({
  id: Type.String(),
  kind: Kind,
  status: ApprovalStatus,
  workspace: Type.Union([WorkspaceRef, Type.Null()]),
  key: Type.Union([KeyFacts, Type.Null()]),
  scopes: Type.Array(RequestedScope),
  mode: Type.Union([GrantModeSchema, Type.Null()]),
  reason: Nullable(Type.String()),
  action: Type.Union([Action, Type.Null()]),
  code: Nullable(Type.String({ description: 'The code the agent shows, if it has one' })),
  deny_reason: Nullable(Type.String()),
  history: Type.Object({ asked: Type.Number(), allowed: Type.Number(), denied: Type.Number() }),
  created_at: Timestamp,
  expires_at: Timestamp,
  decided_at: Nullable(Timestamp),
})

export const approvalRoutes = defineRoutes({
  listApprovals: {
    method: 'GET',
    path: '/api/v1/approvals',
    summary: 'What waits for the person, and what was decided, over all workspaces',
    tag: 'approvals',
    audience: 'session',
    limits: ['rest'],
    query: Type.Object({
      status: Type.Optional(ApprovalStatus),
      kind: Type.Optional(Kind),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
      cursor: Type.Optional(Type.String({ maxLength: 300 })),
    }),
    responses: { 200: Type.Object({ items: Type.Array(Approval), nextCursor: Nullable(Type.String()) }) },
    errors: ['INVALID_INPUT'],
  },
  challengeApproval: {
    method: 'POST',
    path: '/api/v1/approvals/:id/challenge',
    summary: 'What the passkey must sign to approve exactly these scopes in these modes',
    tag: 'approvals',
    audience: 'session',
    limits: ['rest'],
    params: IdParam,
    optionalBody: true,
    body: Type.Object({
      scopes: Type.Optional(Type.Array(Type.String({ maxLength: 120 }), { maxItems: 50 })),
      modes: Type.Optional(Type.Record(Type.String(), GrantModeSchema)),
    }),
    responses: { 200: Type.Object({ options: Type.Any(), expires_at: Timestamp }) },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT', 'EXPIRED'],
  },
})
