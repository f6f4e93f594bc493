import { Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { DeviceAuth, Nullable, Success, Timestamp } from './shapes.ts'

export const passkeyInviteSeconds = 600
export const recoveryCodesPerUser = 10
/** How long whoever still has a passkey can say no to their passkeys being taken away. */
export const passkeyResetHours = 72

const common = { resource: 'passkeys', tag: 'passkeys', audience: 'session', limits: ['rest'] } as const
const Signed = Type.Object({ device_auth: Type.Optional(DeviceAuth) })
const signed = { device_auth: { id: 'AbCd' } }

/** What helps when a passkey is on another device, or gone. */
export const passkeyRecoveryRoutes = defineRoutes({
  getPasskeyRecovery: {
    method: 'GET',
    path: '/api/v1/passkeys/recovery',
    summary: 'What is left for the day a passkey is lost',
    description: 'How many recovery codes are unused, and whether the passkeys are about to be taken away.',
    verb: 'recovery',
    ...common,
    responses: {
      200: Type.Object({
        codes_left: Type.Integer(),
        reset: Nullable(Type.Object({ asked_at: Timestamp, effective_at: Timestamp })),
      }),
    },
    errors: [],
    example: { answers: { 200: { codes_left: 10, reset: null } } },
  },
  invitePasskey: {
    changes: ['passkeys'],
    method: 'POST',
    path: '/api/v1/passkeys/invites',
    summary: 'A code by which another device of this person adds its passkey',
    description:
      'Signed by a passkey that exists (purpose invite). Good once, for ten minutes and for this person alone; a new one takes the place of the one before.',
    verb: 'invite',
    ...common,
    creates: true,
    answersSecret: true,
    optionalBody: true,
    body: Signed,
    responses: { 201: Type.Object({ code: Type.String(), expires_at: Timestamp }) },
    errors: ['INVALID_INPUT', 'FORBIDDEN', 'CONFLICT'],
    example: {
      body: signed,
      answers: { 201: { code: 'WXYZ-2345', expires_at: '2026-11-15T09:40:00Z' } },
    },
  },
  createRecoveryCodes: {
    changes: ['passkeys'],
    method: 'POST',
    path: '/api/v1/passkeys/recovery-codes',
    summary: 'Ten codes, each of which adds a passkey once when all passkeys are lost',
    description:
      'Signed by a passkey that exists (purpose recovery-codes). They are shown this once and take the place of all earlier ones.',
    verb: 'createRecoveryCodes',
    ...common,
    creates: true,
    answersSecret: true,
    optionalBody: true,
    body: Signed,
    responses: { 201: Type.Object({ codes: Type.Array(Type.String()) }) },
    errors: ['INVALID_INPUT', 'FORBIDDEN', 'CONFLICT'],
    example: { body: signed, answers: { 201: { codes: ['ABCD-EFGH-JKLM-NPQR'] } } },
  },
  resetPasskeys: {
    changes: ['passkeys'],
    method: 'POST',
    path: '/api/v1/passkeys/reset',
    summary: 'Have all passkeys taken away in 72 hours, for who has lost them and the recovery codes',
    description:
      'Needs a sign-in of the last ten minutes. Every browser of the person is told; a passkey that still exists can cancel it until then. Asked for again, it is the one that is under way.',
    verb: 'reset',
    ...common,
    responses: { 202: Type.Object({ effective_at: Timestamp }) },
    errors: ['FORBIDDEN', 'CONFLICT'],
    example: { answers: { 202: { effective_at: '2026-11-18T09:40:00Z' } } },
  },
  cancelPasskeyReset: {
    changes: ['passkeys'],
    method: 'DELETE',
    path: '/api/v1/passkeys/reset',
    summary: 'Keep the passkeys; signed by one of them',
    description: '403 with device_auth_required until a passkey has signed it (purpose cancel-reset).',
    verb: 'cancelReset',
    ...common,
    optionalBody: true,
    body: Signed,
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'FORBIDDEN'],
    example: { body: signed },
  },
})
