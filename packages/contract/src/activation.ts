import { Type } from 'typebox'
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
      'Show user_code and the link to the person, then poll with device_code no faster than `interval`.',
    resource: 'pairings',
    verb: 'start',
    tag: 'activation',
    audience: 'public',
    limits: ['rest', 'activate'],
    responses: {
      200: Type.Object({
        device_code: Type.String(),
        user_code: Type.String(),
        verification_url: Type.String(),
        verification_url_complete: Type.String(),
        app_download_url: Type.String(),
        expires_in: Type.Number(),
        interval: Type.Number(),
      }),
    },
    errors: ['RATE_LIMITED'],
    example: {
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
      'Keep the key that the first poll after approval brings: later polls say `consumed`. 429 means slower.',
    resource: 'pairings',
    verb: 'poll',
    tag: 'activation',
    audience: 'public',
    limits: ['poll'],
    body: Type.Object({ device_code: Type.String() }),
    responses: {
      200: Type.Object({
        status: Status,
        api_key: Type.Optional(Type.String()),
        tier: Type.Optional(Mode),
        workspace: Type.Optional(WorkspaceRef),
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
      'The agent gets its key at its next poll. 410 when the code has expired: the agent starts again.',
    resource: 'pairings',
    verb: 'confirm',
    tag: 'activation',
    audience: 'session',
    limits: ['rest'],
    body: Type.Object({
      code: UserCode,
      access: Type.Optional(KeyAccess),
      device_auth: Type.Optional(DeviceAuth),
    }),
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT', 'EXPIRED', 'RATE_LIMITED'],
    example: { body: { code: 'WDJB-MJHT', access: 'declared' } },
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
        user_code: Type.String(),
        client_label: Type.String(),
        client_ua: Type.String(),
        client_ip: Type.String(),
        status: Status,
        expires_at: Timestamp,
        same_network: Type.Boolean({ description: 'The client asked from the network the caller is on' }),
      }),
    },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'RATE_LIMITED'],
    example: {
      answers: {
        200: {
          user_code: 'WDJB-MJHT',
          client_label: 'bot on build-7',
          client_ua: 'bot/1.0',
          client_ip: '203.0.113.7',
          status: 'pending',
          expires_at: '2026-11-15T09:40:00Z',
          same_network: false,
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
    tag: 'activation',
    audience: 'session',
    limits: ['rest'],
    body: Type.Object({ code: UserCode }),
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT', 'EXPIRED', 'RATE_LIMITED'],
    example: { body: { code: 'WDJB-MJHT' } },
  },
})
