import {
  type GrantMode,
  type passkeyPurposes,
  passkeyRoutes,
  passkeysPerUser,
  succeeded,
} from '@guildhall/contract'
import { recordActivity } from '#accounts/activity/activity.ts'
import { findUser, lockUser } from '#accounts/users/users.ts'
import { bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { createOnce } from '#operations/idempotency/idempotency.ts'
import type { Principal } from '#operations/principal.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { challengeOf, registrationOptions, verifyRegistration } from './ceremony.ts'
import {
  challengeFor,
  confirmSubject,
  createKeySubject,
  modesOf,
  passkeyIdOf,
  rememberChallenge,
  requireAssertion,
  type Subject,
  useChallenge,
} from './passkeys.ts'
import { endReset, letInByCode, passkeyRecovery, recoverySweeps, type SessionEnds } from './recovery.ts'
import { deleteInvite } from './recovery-store.ts'
import { relyingParty } from './relying-party.ts'
import { requireFreshSignIn } from './sign-in.ts'
import * as store from './store.ts'
import {
  cancelResetSubject,
  inviteSubject,
  recoveryCodesSubject,
  registerSubject,
  removeSubject,
} from './subject.ts'

const unnamed = 'Passkey'
/** Of the new passkey's own challenge; not to be confused with the existing one's consent to it. */
const registration: Subject = { purpose: 'registration' }

interface SubjectInput {
  purpose?: (typeof passkeyPurposes)[number]
  passkeyId?: string
  access?: 'full' | 'declared'
  scopes?: string[]
  code?: string
  modes?: Record<string, GrantMode>
}

export function passkeyFeature(deps: Deps, ends: SessionEnds): Feature {
  const { database } = deps
  const routes = bindRoutes(passkeyRoutes, {
    listPasskeys: async ({ principal, deps }) => {
      const rows = await store.listPasskeys(deps.database.db, principal.userId)
      return rows.map(describePasskey)
    },

    preparePasskey: async ({ principal, body, deps }) => {
      const { db } = deps.database
      const { userId } = principal
      const subject = await subjectOf(db, userId, body)
      const existing = await store.listPasskeys(db, userId)
      const registering =
        subject === registerSubject ? await prepareRegistration(deps, userId, existing) : null
      const assertion = existing.length > 0 ? await challengeFor(deps, userId, subject) : null
      return {
        registration: registering?.options ?? null,
        assertion: assertion?.options ?? null,
        expires_at: registering?.expires_at ?? assertion?.expires_at ?? null,
      }
    },

    createPasskey: (call) =>
      createOnce(call, async (tx) => {
        const { principal, body, deps } = call
        // Under this lock there is one first passkey; whoever comes second finds it and must assert it.
        await lockUser(tx, principal.userId)
        const existing = await store.listPasskeys(tx, principal.userId)
        const by = await letIn(tx, deps, principal, body, existing.length === 0)
        if (existing.length >= passkeysPerUser) {
          throw new ApiError('CONFLICT', {
            message: `A person can have at most ${passkeysPerUser} passkeys; remove one first`,
            details: { limit: passkeysPerUser },
          })
        }
        const row = await addPasskey(tx, deps, principal, body)
        await endReset(tx, principal)
        const passkey = describePasskey(row)
        await recordActivity(tx, principal, {
          type: 'passkey.added',
          workspaceId: principal.workspaceId,
          details: { id: passkey.id, name: passkey.name, by },
        })
        return { resourceId: passkey.id, answer: passkey }
      }),

    removePasskey: ({ principal, params, body, deps }) =>
      deps.database.transaction(async (tx) => {
        const { userId } = principal
        await lockUser(tx, userId)
        const row = await findPasskey(tx, userId, params.id)
        await requireAssertion(tx, deps, userId, removeSubject(params.id), body.device_auth)
        await store.deletePasskey(tx, userId, row.id)
        // It may have been made by this one.
        await deleteInvite(tx, userId)
        await recordActivity(tx, principal, {
          type: 'passkey.removed',
          workspaceId: principal.workspaceId,
          details: { id: params.id, name: row.name },
        })
        return succeeded
      }),
  })
  return {
    routes: [...routes, ...passkeyRecovery],
    sweeps: [
      { table: 'passkey_challenges', run: () => store.deletePasskeyLeftovers(database.db) },
      ...recoverySweeps(deps, ends),
    ],
  }
}

/** Refuses who may not add a passkey; else tells what let them, for the record. */
async function letIn(
  tx: Tx,
  deps: Deps,
  principal: Principal,
  body: { device_auth?: unknown; invite?: string; recovery_code?: string },
  isFirst: boolean,
): Promise<'sign-in' | 'invite' | 'recovery-code' | 'passkey'> {
  if (isFirst) {
    await requireFreshSignIn(tx, principal)
    return 'sign-in'
  }
  const code = await letInByCode(tx, principal, body)
  if (code) return code
  await requireAssertion(tx, deps, principal.userId, registerSubject, body.device_auth)
  return 'passkey'
}

async function subjectOf(db: Db, userId: string, input: SubjectInput): Promise<Subject> {
  switch (input.purpose ?? 'register') {
    case 'register':
      return registerSubject
    case 'remove': {
      const passkeyId = needed('passkeyId', input.passkeyId)
      await findPasskey(db, userId, passkeyId)
      return removeSubject(passkeyId)
    }
    case 'invite':
      return inviteSubject
    case 'recovery-codes':
      return recoveryCodesSubject
    case 'cancel-reset':
      return cancelResetSubject
    case 'create-key':
      return createKeySubject(input)
    case 'confirm':
      return confirmSubject(
        needed('code', input.code),
        input.access ?? (input.scopes ? 'declared' : 'full'),
        modesOf(input.scopes ?? [], input.modes),
      )
  }
}

function needed(name: string, value: string | undefined): string {
  if (value === undefined)
    throw new ApiError('INVALID_INPUT', { message: `${name}: needed for this purpose` })
  return value
}

async function findPasskey(db: Db, userId: string, passkeyId: string): Promise<store.PasskeyRow> {
  const rows = await store.listPasskeys(db, userId)
  const row = rows.find(({ id }) => passkeyIdOf(id) === passkeyId)
  if (!row) throw new ApiError('NOT_FOUND')
  return row
}

async function prepareRegistration(deps: Deps, userId: string, existing: readonly store.PasskeyRow[]) {
  const { db } = deps.database
  const user = await findUser(db, userId)
  if (!user) throw new ApiError('UNAUTHORIZED', { message: 'Invalid auth token' })
  const options = await registrationOptions(relyingParty(deps.config), user, existing)
  return { options, expires_at: await rememberChallenge(db, userId, registration, options.challenge) }
}

async function addPasskey(
  tx: Tx,
  deps: Deps,
  { userId }: Principal,
  body: { name?: string; credential: unknown },
): Promise<store.PasskeyRow> {
  const challenge = challengeOf(body.credential)
  if (challenge === undefined || !(await useChallenge(tx, userId, registration, challenge))) {
    throw notRegistered('its challenge is unknown, used or too old; ask for new options')
  }
  const verified = await verifyRegistration(relyingParty(deps.config), body.credential, challenge).catch(
    (error) => {
      throw notRegistered('not what was asked for in the options', error)
    },
  )
  const row = await store.insertPasskey(tx, {
    ...verified,
    user_id: userId,
    name: body.name?.trim() ?? unnamed,
  })
  if (!row) throw new ApiError('CONFLICT', { message: 'This passkey is registered already' })
  return row
}

function notRegistered(reason: string, cause?: unknown): ApiError {
  return new ApiError('INVALID_INPUT', { message: `credential: ${reason}`, cause })
}

function describePasskey(row: store.PasskeyRow) {
  return {
    id: passkeyIdOf(row.id),
    name: row.name,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    backedUp: row.backed_up,
  }
}
