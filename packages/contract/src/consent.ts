import { type Static, Type } from 'typebox'
import { actionArgsLimits, longPollMaxSeconds } from './limits.ts'
import { defineRoutes } from './route.ts'
import { DeviceAuth, Nullable, Success, Timestamp, UserCode, WorkspaceRef } from './shapes.ts'
import { openArguments } from './weight.ts'

export const GrantModeSchema = Type.Enum(['persistent', 'session', 'one_time'], { title: 'GrantMode' })
const Scope = Type.String({ minLength: 1, maxLength: 120 })
export const Scopes = Type.Array(Scope, { maxItems: 50 })
export const Wait = Type.Object({
  wait: Type.Optional(
    Type.Integer({ minimum: 0, maximum: longPollMaxSeconds, description: 'Seconds to wait for a decision' }),
  ),
})
export const Modes = Type.Record(Type.String(), GrantModeSchema)
const Reason = Type.Optional(Type.String({ maxLength: 280 }))

const status = Type.Enum(['pending', 'granted', 'denied', 'expired'])

export const RequestedScope = Type.Object(
  {
    scope: Type.String(),
    group: Type.String(),
    description: Type.String(),
    sensitive: Type.Boolean(),
    default_mode: GrantModeSchema,
    held: Type.Boolean(),
  },
  { title: 'RequestedScope' },
)
export type RequestedScope = Static<typeof RequestedScope>

export const KeyFacts = Type.Object(
  {
    id: Type.Number(),
    label: Type.String(),
    client_label: Nullable(Type.String()),
    client_ua: Nullable(Type.String()),
    client_ip: Nullable(Type.String()),
    created_at: Timestamp,
  },
  { title: 'KeyFacts' },
)
export type KeyFacts = Static<typeof KeyFacts>

export const Consent = Type.Object(
  {
    consent_id: Type.String(),
    link_code: Type.String(),
    status,
    requested_scopes: Type.Array(RequestedScope),
    key: KeyFacts,
    workspace: WorkspaceRef,
    created_at: Timestamp,
    expires_at: Timestamp,
  },
  { title: 'Consent' },
)
export type Consent = Static<typeof Consent>

/** What the agent means to do, shown to the person exactly as it was sent. */
export const Action = Type.Object(
  {
    summary: Type.String({ minLength: 1, maxLength: 500 }),
    tool: Type.Optional(Type.String({ maxLength: 200 })),
    args: Type.Optional(
      Type.Any({
        description: `At most ${actionArgsLimits.bytes} bytes as JSON and ${actionArgsLimits.depth} levels deep`,
      }),
    ),
    diff: Type.Optional(Type.String({ maxLength: 20_000 })),
    target: Type.Optional(Type.String({ maxLength: 500 })),
    estimatedCost: Type.Optional(Type.Number({ minimum: 0, maximum: 1_000_000_000 })),
    request: Type.Optional(
      Type.Object({
        method: Type.Enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
        path: Type.String({ pattern: '^/', maxLength: 2000 }),
        bodySha256: Type.Optional(
          Type.String({
            pattern: '^[0-9a-f]{64}$',
            description:
              'Of the body. Send that as args too, so that the person is shown what they allow. Without it a ' +
              'grant fits any body to that path, and the person is told so',
          }),
        ),
      }),
    ),
  },
  { title: 'Action' },
)
export type Action = Static<typeof Action>

/** What a permission is asked for. Of the body that it is for, the agent may leave the digest to the server. */
const AskedAction = Type.Object(
  {
    ...Action.properties,
    argsAreBody: Type.Optional(
      Type.Boolean({
        description:
          'args are the body of the request, to be sent as JSON without blanks: without bodySha256 a grant is bound to them',
      }),
    ),
  },
  { title: 'AskedAction' },
)
export type AskedAction = Static<typeof AskedAction>

export const consentRoutes = defineRoutes({
  connectAgent: {
    method: 'POST',
    path: '/api/v1/agents/connect',
    summary: 'Declare the scopes this key needs; a person approves them',
    description: 'Show link_code to the person and poll. An active key with all the scopes gets 200 at once.',
    resource: 'consents',
    verb: 'request',
    creates: true,
    tag: 'agents',
    audience: 'key',
    changes: ['approvals'],
    servesUnactivated: true,
    limits: ['rest'],
    optionalBody: true,
    body: Type.Object({ requestedScopes: Type.Optional(Scopes) }),
    responses: {
      200: Type.Object({ status: Type.Literal('active'), scopes: Type.Array(Type.String()) }),
      202: Type.Object({
        status: Type.Literal('pending'),
        consent_id: Type.String(),
        link_code: Type.String(),
        approval_url: Type.String({ description: 'Where the person decides; show it to them' }),
        poll_url: Type.String(),
        poll_interval_seconds: Type.Number(),
      }),
    },
    errors: ['INVALID_INPUT'],
    example: {
      body: { requestedScopes: ['tool:execute:weekly-report'] },
      answers: {
        200: { status: 'active', scopes: ['profile:read', 'tool:execute:weekly-report'] },
        202: {
          status: 'pending',
          consent_id: 'consent_7d1c',
          link_code: 'WDJB-MJHT',
          approval_url: 'https://example.com/approvals/consent_7d1c',
          poll_url: '/api/v1/agents/connect/poll/consent_7d1c',
          poll_interval_seconds: 2,
        },
      },
    },
  },
  pollConsent: {
    method: 'GET',
    path: '/api/v1/agents/connect/poll/:consentId',
    summary: 'Whether the person has decided',
    description: "With `wait` it answers as soon as there is a decision. 404 for another key's.",
    resource: 'consents',
    verb: 'poll',
    tag: 'agents',
    audience: 'key',
    servesUnactivated: true,
    limits: ['rest'],
    params: Type.Object({ consentId: Type.String() }),
    query: Wait,
    responses: {
      200: Type.Object({
        status,
        scopes: Type.Optional(Type.Array(Type.String())),
        deny_reason: Type.Optional(Type.String()),
      }),
    },
    errors: ['NOT_FOUND'],
    example: { answers: { 200: { status: 'granted', scopes: ['tool:execute:weekly-report'] } } },
  },
  findConsentByCode: {
    method: 'POST',
    path: '/api/v1/agents/connect/by-code',
    summary: 'Find a waiting consent by the code the agent shows',
    description:
      'Shows who asks for what, before deciding. Ten wrong codes in ten minutes are refused with 429.',
    resource: 'consents',
    verb: 'find',
    tag: 'agents',
    audience: 'session',
    changes: [],
    limits: ['rest'],
    body: Type.Object({ code: UserCode }),
    responses: {
      200: Consent,
    },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT', 'EXPIRED', 'RATE_LIMITED'],
    example: { body: { code: 'WDJB-MJHT' } },
  },
  approveConsent: {
    method: 'POST',
    path: '/api/v1/agents/connect/:consentId/approve',
    summary: 'Approve all or some of the scopes',
    description:
      'Sensitive scopes need device_auth over exactly these scopes and modes: get it from approvals/:id/challenge.',
    resource: 'consents',
    verb: 'approve',
    creates: true,
    tag: 'agents',
    audience: 'session',
    changes: ['approvals', 'keys'],
    limits: ['rest'],
    params: Type.Object({ consentId: Type.String() }),
    body: Type.Object({
      scopes: Scopes,
      modes: Type.Optional(Modes),
      device_auth: Type.Optional(DeviceAuth),
    }),
    responses: { 200: Type.Object({ success: Type.Literal(true), scopes: Type.Array(Type.String()) }) },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT'],
    example: {
      body: { scopes: ['profile:read'] },
      answers: { 200: { success: true, scopes: ['profile:read'] } },
    },
  },
  denyConsent: {
    method: 'POST',
    path: '/api/v1/agents/connect/:consentId/deny',
    summary: 'Refuse the scopes',
    description: 'The agent is told the reason at its next poll.',
    resource: 'consents',
    verb: 'deny',
    creates: true,
    tag: 'agents',
    audience: 'session',
    changes: ['approvals'],
    limits: ['rest'],
    params: Type.Object({ consentId: Type.String() }),
    optionalBody: true,
    body: Type.Object({ reason: Reason }),
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT'],
    example: { body: { reason: 'Not now' } },
  },
  requestPermission: {
    method: 'POST',
    path: '/api/v1/agents/request-permission',
    summary: 'Ask the person for one more scope, and say why',
    description:
      'Poll for the decision, then send the refused request again. 409: connect first. 429: too many wait.',
    resource: 'permissions',
    verb: 'request',
    creates: true,
    tag: 'agents',
    audience: 'key',
    changes: ['approvals'],
    limits: ['rest'],
    weight: openArguments,
    body: Type.Object({
      scope: Scope,
      // Any value: one that is not a mode means the default, as the specification wants it.
      mode: Type.Optional(Type.Any()),
      reason: Type.String({ minLength: 1, maxLength: 280, pattern: '\\S' }),
      action: Type.Optional(AskedAction),
    }),
    responses: {
      200: Type.Object({ status: Type.Literal('already_granted'), grant_token: Type.Null() }),
      202: Type.Object({
        status: Type.Literal('pending'),
        request_id: Type.String(),
        approval_url: Type.String({ description: 'Where the person decides; show it to them' }),
        poll_url: Type.String(),
        poll_interval_seconds: Type.Number(),
      }),
    },
    errors: ['INVALID_INPUT', 'ACTIVATION_REQUIRED', 'RATE_LIMITED'],
    example: {
      body: { scope: 'tool:execute:weekly-report', reason: 'The weekly report is due' },
      answers: {
        200: { status: 'already_granted', grant_token: null },
        202: {
          status: 'pending',
          request_id: 'permission_2f0a',
          approval_url: 'https://example.com/approvals/permission_2f0a',
          poll_url: '/api/v1/agents/request-permission/poll/permission_2f0a',
          poll_interval_seconds: 2,
        },
      },
    },
  },
  pollPermission: {
    method: 'GET',
    path: '/api/v1/agents/request-permission/poll/:requestId',
    summary: 'Whether the person has decided',
    description:
      'With `wait` it answers as soon as there is a decision. A one_time grant fits one request, for five minutes.',
    resource: 'permissions',
    verb: 'poll',
    tag: 'agents',
    audience: 'key',
    limits: ['rest'],
    params: Type.Object({ requestId: Type.String() }),
    query: Wait,
    responses: {
      200: Type.Object({
        status,
        mode: Type.Optional(GrantModeSchema),
        expires_at: Type.Optional(Nullable(Timestamp)),
        consumed: Type.Optional(
          Type.Literal(true, { description: 'A one_time grant has been used; ask again for another use' }),
        ),
        deny_reason: Type.Optional(Type.String()),
      }),
    },
    errors: ['NOT_FOUND'],
    example: { answers: { 200: { status: 'granted', mode: 'session', expires_at: '2026-11-15T10:30:00Z' } } },
  },
  approvePermission: {
    method: 'POST',
    path: '/api/v1/agents/request-permission/:requestId/approve',
    summary: 'Grant the scope, for as long as the mode says',
    description:
      'The mode may be narrower than what was asked. Sensitive scopes need device_auth: 403 says so.',
    resource: 'permissions',
    verb: 'approve',
    creates: true,
    tag: 'agents',
    audience: 'session',
    changes: ['approvals', 'keys'],
    limits: ['rest'],
    params: Type.Object({ requestId: Type.String() }),
    optionalBody: true,
    body: Type.Object({ mode: Type.Optional(GrantModeSchema), device_auth: Type.Optional(DeviceAuth) }),
    responses: {
      200: Type.Object({
        success: Type.Literal(true),
        mode: GrantModeSchema,
        expires_at: Nullable(Timestamp),
      }),
    },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT'],
    example: {
      body: { mode: 'session' },
      answers: { 200: { success: true, mode: 'session', expires_at: '2026-11-15T10:30:00Z' } },
    },
  },
  denyPermission: {
    method: 'POST',
    path: '/api/v1/agents/request-permission/:requestId/deny',
    summary: 'Refuse the scope',
    description: 'The agent is told the reason at its next poll.',
    resource: 'permissions',
    verb: 'deny',
    creates: true,
    tag: 'agents',
    audience: 'session',
    changes: ['approvals'],
    limits: ['rest'],
    params: Type.Object({ requestId: Type.String() }),
    optionalBody: true,
    body: Type.Object({ reason: Reason }),
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT'],
    example: { body: { reason: 'Not now' } },
  },
  removeScope: {
    method: 'DELETE',
    path: '/api/v1/agents/:keyId/scopes/:scope',
    summary: 'Take one scope away from a key, with all grants of it',
    description: 'Works at once, in every process.',
    resource: 'permissions',
    verb: 'remove',
    tag: 'agents',
    audience: 'session',
    changes: ['keys'],
    limits: ['rest'],
    params: Type.Object({ keyId: Type.String(), scope: Type.String() }),
    responses: {
      200: Type.Object({
        success: Type.Literal(true),
        key_id: Type.Number(),
        scopes: Type.Array(Type.String()),
      }),
    },
    errors: ['NOT_FOUND'],
    example: { answers: { 200: { success: true, key_id: 12, scopes: [] } } },
  },
})
