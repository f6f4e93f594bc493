import { type Static, Type } from 'typebox'
import { Action, GrantModeSchema, KeyFacts, RequestedScope } from './consent.ts'
import { defineRoutes } from './route.ts'
import { IdParam, Limit, Nullable, Success, Timestamp, WorkspaceRef } from './shapes.ts'

const Kind = Type.Enum(['activation', 'consent', 'permission', 'workflow', 'budget'])
const ApprovalStatus = Type.Enum(['pending', 'granted', 'denied', 'expired'])

export const Approval = Type.Object(
  {
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
    workflow: Type.Optional(
      Type.Object({
        runId: Type.String(),
        workflowId: Type.String(),
        stepId: Type.String(),
        index: Type.Number({ description: 'Of the item, in a foreach; else 0' }),
        payload: Type.Unsafe<unknown>({}),
      }),
    ),
    budget: Type.Optional(
      Type.Object({
        executionId: Type.String(),
        limit: Type.Number({ description: 'In Ds, when the key reached it' }),
      }),
    ),
    created_at: Timestamp,
    expires_at: Nullable(Timestamp),
    decided_at: Nullable(Timestamp),
  },
  { title: 'Approval' },
)
export type Approval = Static<typeof Approval>

export const approvalRoutes = defineRoutes({
  listApprovals: {
    method: 'GET',
    path: '/api/v1/approvals',
    summary: 'What waits for the person, and what was decided, over all workspaces',
    description: 'Waiting ones by status `pending`; follow nextCursor until it is null.',
    resource: 'approvals',
    verb: 'list',
    page: 'cursor',
    tag: 'approvals',
    audience: 'session',
    limits: ['rest'],
    query: Type.Object({
      status: Type.Optional(ApprovalStatus),
      kind: Type.Optional(Kind),
      limit: Limit(100),
      cursor: Type.Optional(Type.String({ maxLength: 300 })),
    }),
    responses: { 200: Type.Object({ items: Type.Array(Approval), nextCursor: Nullable(Type.String()) }) },
    errors: ['INVALID_INPUT'],
  },
  approveApproval: {
    method: 'POST',
    path: '/api/v1/approvals/:id/approve',
    summary: 'Answer a step of a workflow, or raise the spend limit of a key; all else has routes of its own',
    description: '409 for kinds with routes of their own, and when it was decided already.',
    resource: 'approvals',
    verb: 'approve',
    tag: 'approvals',
    audience: 'session',
    limits: ['rest'],
    params: IdParam,
    optionalBody: true,
    body: Type.Object({
      resumeData: Type.Optional(
        Type.Unsafe<unknown>({ description: 'What the step is told; { approved: true } when left out' }),
      ),
      amount: Type.Optional(
        Type.Number({
          exclusiveMinimum: 0,
          maximum: 1_000_000_000,
          description: 'By how many Ds the limit is raised; as much again when left out',
        }),
      ),
    }),
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT', 'EXPIRED'],
    example: { body: { resumeData: { approved: true } } },
  },
  denyApproval: {
    method: 'POST',
    path: '/api/v1/approvals/:id/deny',
    summary: 'Refuse what a step of a workflow asks leave for, or a higher spend limit',
    description: '409 when it was decided already.',
    resource: 'approvals',
    verb: 'deny',
    tag: 'approvals',
    audience: 'session',
    limits: ['rest'],
    params: IdParam,
    optionalBody: true,
    body: Type.Object({ reason: Type.Optional(Type.String({ maxLength: 280 })) }),
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT', 'EXPIRED'],
    example: { body: { reason: 'Not now' } },
  },
  challengeApproval: {
    method: 'POST',
    path: '/api/v1/approvals/:id/challenge',
    summary: 'What the passkey must sign to approve exactly these scopes in these modes',
    description:
      'Send the assertion as device_auth with exactly the same scopes and modes, before expires_at.',
    resource: 'approvals',
    verb: 'challenge',
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
    example: {
      body: { scopes: ['profile:write'], modes: { 'profile:write': 'session' } },
      answers: { 200: { options: { challenge: 'c2lnbg' }, expires_at: '2026-11-15T09:40:00Z' } },
    },
  },
})
