import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { DeviceAuth, IdParam, KeyAccess, Nullable, Timestamp, WorkspaceRef } from './shapes.ts'

const Label = Type.String({ minLength: 1, maxLength: 120, pattern: '\\S' })
const SpendLimit = Nullable(
  Type.Number({ minimum: 0, maximum: 1_000_000_000, description: 'In Ds; null for none' }),
)

export const Key = Type.Object(
  {
    id: Type.Number(),
    label: Type.String(),
    prefix: Type.String({ description: 'The visible start of the key' }),
    workspace: WorkspaceRef,
    scopes: Type.Array(Type.String()),
    activated: Type.Boolean(),
    activity: Type.Enum(['ACTIVE', 'IDLE', 'DORMANT']),
    createdVia: Type.Enum(['pairing', 'manual']),
    clientLabel: Nullable(Type.String()),
    clientUa: Nullable(Type.String()),
    clientIp: Nullable(Type.String()),
    lastUsedAt: Nullable(Timestamp),
    lastUsedIp: Nullable(Type.String()),
    createdAt: Timestamp,
    expiresAt: Nullable(Timestamp),
    spend: Type.Object({ total: Type.Number(), limit: SpendLimit }),
  },
  { title: 'Key' },
)
export type Key = Static<typeof Key>

export const NewKey = Type.Object(
  { ...Key.properties, api_key: Type.String({ description: 'Shown this once' }) },
  { title: 'NewKey' },
)
export type NewKey = Static<typeof NewKey>

/** The part of a request for a key that says what it may do. */
export interface KeyWish {
  readonly access?: 'full' | 'declared' | undefined
  readonly scopes?: readonly string[] | undefined
}

/** Naming scopes is a declaration; only silence means full access. */
export function accessOf({ access, scopes }: KeyWish): 'full' | 'declared' {
  return access ?? (scopes ? 'declared' : 'full')
}

export const keyRoutes = defineRoutes({
  listKeys: {
    method: 'GET',
    path: '/api/v1/keys',
    summary: "The person's keys over all workspaces",
    tag: 'keys',
    audience: 'session',
    limits: ['rest'],
    responses: { 200: Type.Array(Key) },
    errors: [],
  },
  createKey: {
    method: 'POST',
    path: '/api/v1/keys',
    summary: 'Create a key by hand in the workspace the caller acts in',
    tag: 'keys',
    audience: 'session',
    limits: ['rest'],
    creates: true,
    answersSecret: true,
    body: Type.Object({
      label: Label,
      access: Type.Optional(KeyAccess),
      scopes: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 120 }), { maxItems: 100 })),
      expiresAt: Type.Optional(Nullable(Timestamp)),
      spendLimit: Type.Optional(SpendLimit),
      device_auth: Type.Optional(DeviceAuth),
    }),
    responses: { 201: NewKey },
    errors: ['INVALID_INPUT', 'CONFLICT'],
  },
  updateKey: {
    method: 'PATCH',
    path: '/api/v1/keys/:id',
    summary: 'Change a key: label, expiry, spend limit; never its scopes',
    tag: 'keys',
    audience: 'session',
    limits: ['rest'],
    params: IdParam,
    body: Type.Object({
      label: Type.Optional(Label),
      expiresAt: Type.Optional(Nullable(Timestamp)),
      spendLimit: Type.Optional(SpendLimit),
    }),
    responses: { 200: Key },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
  },
  rotateKey: {
    method: 'POST',
    path: '/api/v1/keys/:id/rotate',
    summary: 'Give a key a new secret; the old one works for one more hour',
    tag: 'keys',
    audience: 'session',
    limits: ['rest'],
    creates: true,
    answersSecret: true,
    params: IdParam,
    optionalBody: true,
    body: Type.Object({ device_auth: Type.Optional(DeviceAuth) }),
    responses: { 200: NewKey },
    errors: ['NOT_FOUND', 'CONFLICT'],
  },
  revokeKey: {
    method: 'DELETE',
    path: '/api/v1/keys/:id',
    summary: 'Revoke a key for good; with stopRunning, also once more for what a revoked one still runs',
    tag: 'keys',
    audience: 'session',
    limits: ['rest'],
    params: IdParam,
    query: Type.Object({ stopRunning: Type.Optional(Type.Boolean()) }),
    responses: {
      200: Type.Object({
        success: Type.Literal(true),
        stopped: Type.Number({ description: 'How many executions and runs were ended' }),
      }),
    },
    errors: ['NOT_FOUND'],
  },
  reportLeakedKey: {
    method: 'POST',
    path: '/api/v1/keys/report-leak',
    summary: 'Anybody who finds a key can have it revoked by presenting it',
    tag: 'keys',
    audience: 'public',
    limits: ['rest'],
    body: Type.Object({ key: Type.String({ maxLength: 300 }) }),
    responses: { 200: Type.Object({ success: Type.Literal(true), revoked: Type.Boolean() }) },
    errors: ['INVALID_INPUT'],
  },
})
