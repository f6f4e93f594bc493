import { Type } from 'typebox'
import { Modes, RequestedScope, Scopes, Wait } from './consent.ts'
import { defineRoutes } from './route.ts'
import { DeviceAuth, KeyAccess, Mode, Success, Timestamp, UserCode, WorkspaceRef } from './shapes.ts'

const activationStatuses = ['pending', 'approved', 'denied', 'expired', 'consumed'] as const
const Status = Type.Enum([...activationStatuses])

export const activationRoutes = defineRoutes({
  createActivation: {
    method: 'POST',
    path: '/api/v1/activate',
    summary: 'Start pairing: get a code for the person and a secret for polling',
    description:
      'Show user_code and the link to the person, then poll with device_code no faster than `interval`. The person sees requested_scopes on the card of the pairing and grants some, all or none of them with it.',
    resource: 'pairings',
    verb: 'start',
    tag: 'activation',
    audience: 'public',
    changes: [],
    limits: ['rest', 'activate'],
    optionalBody: true,
    body: Type.Object({
      requested_scopes: Type.Optional(Scopes),
      number_match: Type.Optional(
        Type.Boolean({ description: 'The person must pick the number that the agent shows, of three' }),
      ),
    }),
    responses: {
      200: Type.Object({
        device_code: Type.String(),
        user_code: Type.String(),
        verification_url: Type.String(),
        verification_url_complete: Type.String(),
        app_download_url: Type.String(),
        expires_in: Type.Number(),
        interval: Type.Number(),
        match: Type.Optional(Type.String({ description: 'Two digits to show beside the code' })),
      }),
    },
    errors: ['INVALID_INPUT', 'RATE_LIMITED'],
    example: {
      body: { requested_scopes: ['profile:read'] },
      answers: {
        200: {
          device_code: 'kept-secret',
          user_code: 'WDJB-MJHT',
          verification_url: 'https://example.com/pair',
          verification_url_complete: 'https://example.com/pair?code=WDJB-MJHT',
          app_download_url: 'https://example.com/app',
          expires_in: 600,
          interval: 2,
        },
      },
    },
  },
  pollActivation: {
    method: 'POST',
    path: '/api/v1/activate/poll',
    summary: 'Ask whether the person has decided; the first poll after approval gets the key',
    description:
      'Keep the key that the first poll after approval brings: later polls say `consumed`. 429 means slower. With `wait` it answers as soon as there is a decision.',
    resource: 'pairings',
    verb: 'poll',
    tag: 'activation',
    audience: 'public',
    changes: [],
    limits: ['poll'],
    body: Type.Object({ device_code: Type.String(), ...Wait.properties }),
    responses: {
      200: Type.Object({
        status: Status,
        api_key: Type.Optional(Type.String()),
        tier: Type.Optional(Mode),
        workspace: Type.Optional(WorkspaceRef),
        activated: Type.Optional(
          Type.Boolean({ description: 'Whether the key works at once; otherwise connect with it first' }),
        ),
      }),
    },
    errors: ['INVALID_INPUT', 'RATE_LIMITED'],
    example: { body: { device_code: 'kept-secret' }, answers: { 200: { status: 'pending' } } },
  },
  confirmActivation: {
    method: 'POST',
    path: '/api/v1/activate/confirm',
    summary: 'Approve a pairing in the workspace the caller acts in',
    description:
      'The agent gets its key at its next poll. 410 when the code has expired: the agent starts again. `scopes` are granted to it, of those that it requested and in the modes that are named, persistent where none is; sensitive ones need device_auth over exactly these scopes and modes. Without `scopes` none is granted, and a pairing that requested some is `declared` unless access says otherwise. Where lookup answers match_choices, `match` must be the one that the agent shows: another is 403 with details.reason MATCH and refuses the pairing for good.',
    resource: 'pairings',
    verb: 'confirm',
    creates: true,
    tag: 'activation',
    audience: 'session',
    changes: ['approvals', 'keys'],
    limits: ['rest'],
    body: Type.Object({
      code: UserCode,
      access: Type.Optional(KeyAccess),
      scopes: Type.Optional(Scopes),
      modes: Type.Optional(Modes),
      match: Type.Optional(Type.String({ maxLength: 8 })),
      device_auth: Type.Optional(DeviceAuth),
    }),
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT', 'EXPIRED', 'RATE_LIMITED'],
    example: {
      body: { code: 'WDJB-MJHT', scopes: ['profile:read'], modes: { 'profile:read': 'session' } },
    },
  },
  lookupActivation: {
    method: 'GET',
    path: '/api/v1/activate/lookup',
    summary: 'Show what a code would pair, before deciding',
    description:
      'What the client says of itself is a claim. Ten wrong codes in ten minutes are refused with 429.',
    resource: 'pairings',
    verb: 'lookup',
    tag: 'activation',
    audience: 'session',
    limits: ['rest'],
    query: Type.Object({ code: UserCode }),
    responses: {
      200: Type.Object({
        approval_id: Type.String({ description: 'In the inbox of who looked, from now on' }),
        user_code: Type.String(),
        client_label: Type.String(),
        client_ua: Type.String(),
        client_ip: Type.String(),
        status: Status,
        expires_at: Timestamp,
        same_network: Type.Boolean({ description: 'The client asked from the network the caller is on' }),
        requested_scopes: Type.Array(RequestedScope, {
          description: 'What the client wants to be granted with the pairing; show them before confirming',
        }),
        match_choices: Type.Optional(
          Type.Array(Type.String(), {
            description: 'One of these is what the agent shows; ask the person which',
          }),
        ),
      }),
    },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'RATE_LIMITED'],
    example: {
      answers: {
        200: {
          approval_id: 'activation_12',
          user_code: 'WDJB-MJHT',
          client_label: 'bot on build-7',
          client_ua: 'bot/1.0',
          client_ip: '203.0.113.7',
          status: 'pending',
          expires_at: '2026-11-15T09:40:00Z',
          same_network: false,
          requested_scopes: [
            {
              scope: 'profile:read',
              group: 'profile',
              description: 'Read your profile',
              sensitive: false,
              default_mode: 'persistent',
              held: false,
            },
          ],
        },
      },
    },
  },
  denyActivation: {
    method: 'POST',
    path: '/api/v1/activate/deny',
    summary: 'Refuse a pairing',
    description: 'The agent is told at its next poll; 409 when it was decided already.',
    resource: 'pairings',
    verb: 'deny',
    creates: true,
    tag: 'activation',
    audience: 'session',
    changes: ['approvals'],
    limits: ['rest'],
    body: Type.Object({ code: UserCode }),
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT', 'EXPIRED', 'RATE_LIMITED'],
    example: { body: { code: 'WDJB-MJHT' } },
  },
})
