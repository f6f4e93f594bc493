import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import {
  DeviceAuth,
  Extended,
  IdParam,
  KeyAccess,
  Name,
  Nullable,
  Timestamp,
  WorkspaceRef,
} from './shapes.ts'

const Label = Name(120)
const SpendLimit = Nullable(
  Type.Number({ minimum: 0, maximum: 1_000_000_000, description: 'In Ds; null for none' }),
)

/** What a key has spent of late. */
export const recentSpend = {
  today: Type.Number({ description: 'In Ds, charged since midnight UTC, less refunds' }),
  month: Type.Number({ description: 'In Ds, charged since the first of the month UTC, less refunds' }),
}

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
    spend: Type.Object({ total: Type.Number(), limit: SpendLimit, ...recentSpend }),
  },
  { title: 'Key' },
)
export type Key = Static<typeof Key>

export const NewKey = Extended(Key, 'NewKey', { api_key: Type.String({ description: 'Shown this once' }) })
export type NewKey = Static<typeof NewKey>

/** The part of a request for a key that says what it may do. */
export interface KeyInput {
  readonly access?: 'full' | 'declared' | undefined
  readonly scopes?: readonly string[] | undefined
}

/** Naming scopes is a declaration; only silence means full access. */
export function accessOf({ access, scopes }: KeyInput): 'full' | 'declared' {
  return access ?? (scopes ? 'declared' : 'full')
}

export const keyRoutes = defineRoutes({
  listKeys: {
    method: 'GET',
    path: '/api/v1/keys',
    summary: "The person's keys over all workspaces",
    description: 'Secrets are never shown again; `prefix` tells keys apart.',
    resource: 'keys',
    verb: 'list',
    page: 'bare',
    answers: 'json',
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
    description:
      'Copy api_key now, it is shown once. Full access needs a passkey (device_auth) where the person has one; 403 says so.',
    resource: 'keys',
    verb: 'create',
    tag: 'keys',
    audience: 'session',
    changes: ['keys'],
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
    example: { body: { label: 'Nightly bot', scopes: ['tool:execute:weekly-report'], spendLimit: 500 } },
  },
  updateKey: {
    method: 'PATCH',
    path: '/api/v1/keys/:id',
    summary: 'Change a key: label, expiry, spend limit; never its scopes',
    description:
      'What is left out stays. Scopes change by consent or by removing them, never here. A later end needs what making such a key would: 403 with device_auth_required until a passkey has signed it.',
    resource: 'keys',
    verb: 'update',
    tag: 'keys',
    audience: 'session',
    changes: ['keys'],
    limits: ['rest'],
    params: IdParam,
    body: Type.Object({
      label: Type.Optional(Label),
      expiresAt: Type.Optional(Nullable(Timestamp)),
      spendLimit: Type.Optional(SpendLimit),
      device_auth: Type.Optional(DeviceAuth),
    }),
    responses: { 200: Key },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
    example: { body: { label: 'Weekly bot', spendLimit: null } },
  },
  rotateKey: {
    method: 'POST',
    path: '/api/v1/keys/:id/rotate',
    summary: 'Give a key a new secret; the old one works for one more hour',
    description: 'Copy api_key now. The key keeps its id, scopes and limits.',
    resource: 'keys',
    verb: 'rotate',
    tag: 'keys',
    audience: 'session',
    changes: ['keys'],
    limits: ['rest'],
    creates: true,
    answersSecret: true,
    params: IdParam,
    optionalBody: true,
    body: Type.Object({ device_auth: Type.Optional(DeviceAuth) }),
    responses: { 200: NewKey },
    errors: ['NOT_FOUND', 'CONFLICT'],
    example: { body: {} },
  },
})
