import { type Static, Type } from 'typebox'
import { AskAnswer, AskChoice } from './asks.ts'
import { Action, GrantModeSchema, KeyFacts, RequestedScope, Wait } from './consent.ts'
import { defineRoutes } from './route.ts'
import {
  AnyFields,
  DeviceAuth,
  IdParam,
  Limit,
  Nullable,
  Success,
  Timestamp,
  WorkspaceRef,
} from './shapes.ts'
import { openInput } from './weight.ts'

/** What waits for a person, by what it is about. */
export const ApprovalKind = Type.Enum([
  'activation',
  'consent',
  'permission',
  'workflow',
  'budget',
  'tool',
  'ask',
])
const ToolChoice = Type.Enum(['once', 'hour'], {
  title: 'ToolChoice',
  description: 'once: this call; hour: this tool, in this thread, for an hour',
})
export type ToolChoice = Static<typeof ToolChoice>
const ApprovalStatus = Type.Enum(['pending', 'granted', 'denied', 'expired'])

const ShownAction = Type.Object(
  {
    ...Action.properties,
    argsAreBody: Type.Optional(
      Type.Boolean({
        description:
          'args are the very body that a single use is bound to; without it they are the words of the agent',
      }),
    ),
    argsBytes: Type.Optional(Type.Number({ description: 'Of args as JSON, which a card leaves out' })),
    diffLines: Type.Optional(Type.Number({ description: 'Of diff, which a card leaves out' })),
    unusual: Type.Optional(
      Type.Boolean({
        description: 'Of a card: something in it is invisible, or changes the direction of text',
      }),
    ),
  },
  { title: 'ShownAction', description: 'What the agent says it will do; in a card without args and diff' },
)

export const Decider = Type.Object(
  {
    user_id: Type.String(),
    name: Nullable(Type.String()),
    you: Type.Boolean(),
    key_id: Nullable(Type.Number({ description: 'Of the key through which an agent of theirs answered' })),
    device: Type.Union(
      [
        Type.Object({
          session_id: Type.Number(),
          name: Nullable(Type.String({ description: 'Of the session, or what its client said it is' })),
          current: Type.Boolean({ description: 'The session that asks now' }),
        }),
        Type.Null(),
      ],
      { description: 'Where you decided, as far as is known; null of others' },
    ),
    passkey: Nullable(
      Type.String({
        description: 'The id of the passkey that confirmed it; null of others, and without one',
      }),
    ),
  },
  { title: 'Decider' },
)
export type Decider = Static<typeof Decider>

export const Approval = Type.Object(
  {
    id: Type.String(),
    kind: ApprovalKind,
    status: ApprovalStatus,
    workspace: Type.Union([WorkspaceRef, Type.Null()]),
    key: Type.Union([KeyFacts, Type.Null()]),
    scopes: Type.Array(RequestedScope),
    mode: Type.Union([GrantModeSchema, Type.Null()]),
    reason: Nullable(Type.String()),
    action: Type.Union([ShownAction, Type.Null()]),
    client: Type.Union(
      [
        Type.Object({
          label: Type.String(),
          ua: Type.String(),
          ip: Type.String(),
          same_network: Type.Boolean({ description: 'As who asks now' }),
        }),
        Type.Null(),
      ],
      { description: 'What a device that wants to be paired said it is; of an activation' },
    ),
    code: Nullable(Type.String({ description: 'The code the agent shows, if it has one' })),
    deny_reason: Nullable(Type.String()),
    times: Type.Number({ description: 'How often it was asked while it waited' }),
    history: Type.Object({ asked: Type.Number(), allowed: Type.Number(), denied: Type.Number() }),
    workflow: Type.Optional(
      Type.Object({
        runId: Type.String(),
        workflowId: Type.String(),
        stepId: Type.String(),
        index: Type.Number({ description: 'Of the item, in a foreach; else 0' }),
        payload: Type.Unsafe<unknown>({ description: 'What is asked; of more than 32 KiB the beginning' }),
        payloadBytes: Type.Optional(
          Type.Number({ description: 'Of the whole, when only its beginning is shown' }),
        ),
        payloadUrl: Type.Optional(Type.String({ description: 'Where the whole is, then' })),
      }),
    ),
    budget: Type.Optional(
      Type.Object({
        executionId: Type.String(),
        limit: Type.Number({ description: 'In Ds, when the key reached it' }),
      }),
    ),
    tool: Type.Optional(
      Type.Object({
        name: Type.String(),
        threadId: Type.String(),
        runId: Type.String(),
        toolUseId: Type.String(),
        needsPasskey: Type.Boolean({ description: 'Of who has one: send device_auth with the approval' }),
        choices: Type.Array(ToolChoice),
      }),
    ),
    ask: Type.Optional(
      Type.Object({
        question: Type.String(),
        choices: Type.Optional(Type.Array(AskChoice)),
        schema: Type.Optional(AnyFields),
        ...AskAnswer,
        withdrawn: Type.Optional(
          Type.Object({ because: Nullable(Type.String()) }, { description: 'The agent took it back' }),
        ),
      }),
    ),
    approval_url: Type.String({ description: 'Its page in the app' }),
    created_at: Timestamp,
    expires_at: Nullable(Timestamp),
    decided_at: Nullable(Timestamp),
    decided_by: Type.Union([Decider, Type.Null()], {
      description: 'Null while nobody has, and where it is not known',
    }),
  },
  { title: 'Approval' },
)
export type Approval = Static<typeof Approval>

export const approvalRoutes = defineRoutes({
  listApprovals: {
    method: 'GET',
    path: '/api/v1/approvals',
    summary: 'What waits for the person, and what was decided, over all workspaces',
    description:
      'Waiting ones by status `pending`; follow nextCursor until it is null. view=card leaves out what is long: get the one that is looked at.',
    resource: 'approvals',
    verb: 'list',
    page: 'cursor',
    tag: 'approvals',
    audience: 'session',
    limits: ['rest'],
    query: Type.Object({
      status: Type.Optional(ApprovalStatus),
      kind: Type.Optional(ApprovalKind),
      view: Type.Optional(
        Type.Enum(['card'], {
          description: 'action without args and diff, with argsBytes, diffLines and unusual',
        }),
      ),
      limit: Limit(100),
      cursor: Type.Optional(Type.String({ maxLength: 300 })),
    }),
    responses: { 200: Type.Object({ items: Type.Array(Approval), nextCursor: Nullable(Type.String()) }) },
    errors: ['INVALID_INPUT'],
  },
  getApproval: {
    method: 'GET',
    path: '/api/v1/approvals/:id',
    summary: 'One request that waits for the person, or that was decided',
    description:
      'With `wait` it answers as soon as it is not pending any more. 404 for what is for others to decide.',
    resource: 'approvals',
    verb: 'get',
    tag: 'approvals',
    audience: 'session',
    limits: ['rest'],
    params: IdParam,
    query: Wait,
    responses: { 200: Approval },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
  },
  approveApproval: {
    method: 'POST',
    path: '/api/v1/approvals/:id/approve',
    summary:
      "Answer a step of a workflow, raise a key's spend limit, let an agent use a tool, answer its ask; all else has routes of its own",
    description:
      '404 also for kinds with routes of their own; 409 when it was decided or has expired: details.status says which, and by whom (decided_by) and when. Where needsPasskey says so, who has a passkey sends device_auth.',
    resource: 'approvals',
    verb: 'approve',
    creates: true,
    tag: 'approvals',
    audience: 'session',
    changes: ['approvals', 'keys'],
    limits: ['rest'],
    params: IdParam,
    optionalBody: true,
    weight: openInput,
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
      choice: Type.Optional(
        Type.String({
          maxLength: 64,
          description:
            'Of a tool: once, which is what it is when left out, or hour; of an ask: the id of a choice',
        }),
      ),
      answer: AskAnswer.answer,
      edited_args: AskAnswer.edited_args,
      device_auth: Type.Optional(DeviceAuth),
    }),
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT'],
    example: { body: { resumeData: { approved: true } } },
  },
  denyApproval: {
    method: 'POST',
    path: '/api/v1/approvals/:id/deny',
    summary:
      'Refuse what a step of a workflow asks leave for, a higher spend limit, the use of a tool, or an ask',
    description: '409 when it was decided already: details say by whom (decided_by) and when.',
    resource: 'approvals',
    verb: 'deny',
    creates: true,
    tag: 'approvals',
    audience: 'session',
    changes: ['approvals'],
    limits: ['rest'],
    params: IdParam,
    optionalBody: true,
    body: Type.Object({ reason: Type.Optional(Type.String({ maxLength: 280 })) }),
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT'],
    example: { body: { reason: 'Not now' } },
  },
  challengeApproval: {
    method: 'POST',
    path: '/api/v1/approvals/:id/challenge',
    summary: 'What the passkey must sign to approve exactly these scopes in these modes, or this choice',
    description:
      'Send the assertion as device_auth with exactly the same scopes and modes, or choice, before expires_at.',
    resource: 'approvals',
    verb: 'challenge',
    tag: 'approvals',
    audience: 'session',
    changes: [],
    limits: ['rest'],
    params: IdParam,
    optionalBody: true,
    body: Type.Object({
      scopes: Type.Optional(Type.Array(Type.String({ maxLength: 120 }), { maxItems: 50 })),
      modes: Type.Optional(Type.Record(Type.String(), GrantModeSchema)),
      choice: Type.Optional(Type.String({ maxLength: 64 })),
    }),
    responses: { 200: Type.Object({ options: Type.Any(), expires_at: Timestamp }) },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT'],
    example: {
      body: { scopes: ['profile:write'], modes: { 'profile:write': 'session' } },
      answers: { 200: { options: { challenge: 'c2lnbg' }, expires_at: '2026-11-15T09:40:00Z' } },
    },
  },
})
