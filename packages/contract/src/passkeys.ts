import { type Static, Type } from 'typebox'
import { Modes } from './consent.ts'
import { defineRoutes } from './route.ts'
import { DeviceAuth, IdParam, KeyAccess, Name, Nullable, Success, Timestamp, UserCode } from './shapes.ts'

export const Passkey = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    createdAt: Timestamp,
    lastUsedAt: Nullable(Timestamp),
    backedUp: Type.Boolean({
      description: 'Synchronised by its provider, so it survives the loss of a device',
    }),
  },
  { title: 'Passkey' },
)
export type Passkey = Static<typeof Passkey>

export const passkeyPurposes = [
  'register',
  'remove',
  'create-key',
  'confirm',
  'invite',
  'recovery-codes',
  'cancel-reset',
] as const

export const passkeyRoutes = defineRoutes({
  listPasskeys: {
    method: 'GET',
    path: '/api/v1/passkeys',
    summary: "The person's passkeys",
    description: 'Approvals of sensitive scopes are signed by one of them.',
    resource: 'passkeys',
    verb: 'list',
    page: 'bare',
    tag: 'passkeys',
    audience: 'session',
    limits: ['rest'],
    responses: { 200: Type.Array(Passkey) },
    errors: [],
  },
  preparePasskey: {
    method: 'POST',
    path: '/api/v1/passkeys/options',
    summary:
      'What the browser needs to register a passkey, or to assert one for something other than an approval',
    description:
      'Give the options to navigator.credentials, then send its answer to the route that asked for it, with exactly the same access, scopes and modes.',
    resource: 'passkeys',
    verb: 'prepare',
    tag: 'passkeys',
    audience: 'session',
    changes: [],
    limits: ['rest'],
    optionalBody: true,
    body: Type.Object({
      purpose: Type.Optional(Type.Enum(passkeyPurposes, { description: 'register if left out' })),
      passkeyId: Type.Optional(Type.String({ maxLength: 200 })),
      access: Type.Optional(KeyAccess),
      scopes: Type.Optional(Type.Array(Type.String({ maxLength: 120 }), { maxItems: 100 })),
      code: Type.Optional(UserCode),
      modes: Type.Optional(Modes),
    }),
    responses: {
      200: Type.Object({
        registration: Type.Any({ description: 'Options to create a passkey; null unless registering' }),
        assertion: Type.Any({ description: 'Options to assert an existing one; null when none is needed' }),
        expires_at: Nullable(Timestamp),
      }),
    },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
    example: {
      body: { purpose: 'register' },
      answers: {
        200: { registration: { challenge: 'c2lnbg' }, assertion: null, expires_at: '2026-11-15T09:40:00Z' },
      },
    },
  },
  createPasskey: {
    method: 'POST',
    path: '/api/v1/passkeys',
    summary: 'Register a passkey; a further one needs an assertion by an existing one',
    description:
      'Options come from passkeys/options and fit once. 403 with device_auth_required: assert an existing passkey, or give a code of passkeys/invites or a recovery code.',
    resource: 'passkeys',
    verb: 'create',
    tag: 'passkeys',
    audience: 'session',
    changes: ['passkeys'],
    limits: ['rest'],
    creates: true,
    body: Type.Object({
      name: Type.Optional(Name(64)),
      credential: DeviceAuth,
      device_auth: Type.Optional(DeviceAuth),
      invite: Type.Optional(
        Type.String({ maxLength: 40, description: 'A code of passkeys/invites, instead of device_auth' }),
      ),
      recovery_code: Type.Optional(
        Type.String({
          maxLength: 60,
          description:
            'One of the recovery codes, instead of device_auth; needs a sign-in of the last ten minutes',
        }),
      ),
    }),
    responses: { 201: Passkey },
    errors: ['INVALID_INPUT', 'CONFLICT'],
    example: { body: { name: 'Phone', credential: { id: 'AbCd' } } },
  },
  removePasskey: {
    method: 'DELETE',
    path: '/api/v1/passkeys/:id',
    summary: 'Remove a passkey; needs an assertion by an existing one',
    description: '403 with device_auth_required until an existing passkey has signed it.',
    resource: 'passkeys',
    verb: 'remove',
    tag: 'passkeys',
    audience: 'session',
    changes: ['passkeys'],
    limits: ['rest'],
    params: IdParam,
    optionalBody: true,
    body: Type.Object({ device_auth: Type.Optional(DeviceAuth) }),
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
    example: { body: { device_auth: { id: 'AbCd' } } },
  },
})
