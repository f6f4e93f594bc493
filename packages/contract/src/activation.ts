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
  },
  pollActivation: {
    method: 'POST',
    path: '/api/v1/activate/poll',
    summary: 'Ask whether the person has decided; the first poll after approval gets the key',
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
  },
  confirmActivation: {
    method: 'POST',
    path: '/api/v1/activate/confirm',
    summary: 'Approve a pairing in the workspace the caller acts in',
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
  },
  lookupActivation: {
    method: 'GET',
    path: '/api/v1/activate/lookup',
    summary: 'Show what a code would pair, before deciding',
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
  },
  denyActivation: {
    method: 'POST',
    path: '/api/v1/activate/deny',
    summary: 'Refuse a pairing',
    tag: 'activation',
    audience: 'session',
    limits: ['rest'],
    body: Type.Object({ code: UserCode }),
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT', 'EXPIRED', 'RATE_LIMITED'],
  },
})
