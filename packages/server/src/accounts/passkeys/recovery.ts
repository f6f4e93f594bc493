import {
  passkeyInviteSeconds,
  passkeyRecoveryRoutes,
  passkeyResetHours,
  recoveryCodesPerUser,
  succeeded,
} from '@guildhall/contract'
import { recordActivity } from '#accounts/activity/activity.ts'
import { type EndAlong, endSessions } from '#accounts/sessions/sessions.ts'
import { lockUser } from '#accounts/users/users.ts'
import { inPerson } from '#operations/actor.ts'
import { bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { createOnce } from '#operations/idempotency/idempotency.ts'
import type { Principal } from '#operations/principal.ts'
import { noteChange } from '#platform/changes.ts'
import type { Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { hashSecret } from '#platform/secrets.ts'
import { mintUserCode, normalizeUserCode } from '#platform/user-code.ts'
import { requireAssertion } from './passkeys.ts'
import * as store from './recovery-store.ts'
import { requireFreshSignIn } from './sign-in.ts'
import { deletePasskeysUpTo, findAnyPasskey } from './store.ts'
import { cancelResetSubject, inviteSubject, recoveryCodesSubject } from './subject.ts'

const resetsAtOnce = 100

/** What helps when a passkey is on another device, or gone. Every way in but the last is opened by a passkey. */
export const passkeyRecovery = bindRoutes(passkeyRecoveryRoutes, {
  getPasskeyRecovery: async ({ principal: { userId }, deps: { database } }) => {
    const reset = await store.findReset(database.db, userId)
    return {
      codes_left: await store.countRecoveryCodes(database.db, userId),
      reset: reset ? { asked_at: reset.asked_at, effective_at: reset.effective_at } : null,
    }
  },

  invitePasskey: (call) =>
    createOnce(call, async (tx) => {
      const { principal, body, deps } = call
      const { userId, workspaceId } = principal
      await requirePasskey(tx, userId)
      await requireAssertion(tx, deps, userId, inviteSubject, body.device_auth)
      const code = mintUserCode()
      const expires_at = await store.replaceInvite(tx, userId, hashSecret(code), passkeyInviteSeconds)
      await recordActivity(tx, principal, { type: 'passkey.invited', workspaceId })
      return { resourceId: 'passkey-invite', answer: { code, expires_at } }
    }),

  createRecoveryCodes: (call) =>
    createOnce(call, async (tx) => {
      const { principal, body, deps } = call
      const { userId, workspaceId } = principal
      await requirePasskey(tx, userId)
      await requireAssertion(tx, deps, userId, recoveryCodesSubject, body.device_auth)
      // 80 bits each: nobody guesses one, and a stolen table of their hashes is of no use.
      const codes = Array.from({ length: recoveryCodesPerUser }, () => `${mintUserCode()}-${mintUserCode()}`)
      await store.replaceRecoveryCodes(tx, userId, codes.map(hashRecoveryCode))
      await recordActivity(tx, principal, { type: 'passkey.recovery_codes_made', workspaceId })
      return { resourceId: 'passkey-recovery-codes', answer: { codes } }
    }),

  resetPasskeys: ({ principal, deps }) =>
    deps.database.transaction(async (tx) => {
      const { userId, workspaceId } = principal
      await lockUser(tx, userId)
      await requireFreshSignIn(tx, principal)
      const underWay = await store.findReset(tx, userId)
      if (underWay) return { effective_at: underWay.effective_at }
      await requirePasskey(tx, userId)
      const effective_at = await store.insertReset(tx, userId, workspaceId, passkeyResetHours * 3600)
      await recordActivity(tx, principal, {
        type: 'passkey.reset_asked',
        workspaceId,
        details: { effectiveAt: effective_at },
      })
      return { effective_at }
    }),

  cancelPasskeyReset: ({ principal, body, deps }) =>
    deps.database.transaction(async (tx) => {
      const { userId } = principal
      await lockUser(tx, userId)
      if (!(await store.findReset(tx, userId))) throw new ApiError('NOT_FOUND')
      await requireAssertion(tx, deps, userId, cancelResetSubject, body.device_auth)
      await endReset(tx, principal)
      return succeeded
    }),
})

export interface SessionEnds {
  readonly endAlong: EndAlong
  /** Tells every process that sessions have ended. */
  announceEnded(sessionIds: readonly number[]): Promise<unknown>
}

export function recoverySweeps(
  { database, logger }: Pick<Deps, 'database' | 'logger'>,
  { announceEnded, endAlong }: SessionEnds,
): NonNullable<Feature['sweeps']> {
  const takeAway = async () => {
    const due = await store.listDueResets(database.db, resetsAtOnce)
    for (const userId of due) {
      // One person's may wait for a lock; the others are not kept waiting by it.
      await database
        .transaction((tx) => takePasskeysAway(tx, userId, endAlong))
        .then(announceEnded)
        .catch((error) => logger.warn({ err: error }, 'passkeys were not taken away; looking again'))
    }
    return due.length
  }
  return [
    { table: 'passkey_invites', run: () => store.deleteOldInvites(database.db) },
    { table: 'passkey_resets', run: takeAway },
  ]
}

/**
 * With them go all sessions: whoever asked for it signed in three days ago, and what needs a passkey of who has one needs
 * nothing of who has none. Gives the sessions that ended.
 */
async function takePasskeysAway(tx: Tx, userId: string, endAlong: EndAlong): Promise<number[]> {
  await lockUser(tx, userId)
  const reset = await store.claimDueReset(tx, userId)
  if (!reset) return []
  await store.deleteRecoveryCodes(tx, userId)
  await store.deleteInvite(tx, userId)
  // What was added since stays, whichever process added it.
  const passkeys = await deletePasskeysUpTo(tx, userId, reset.asked_at)
  noteChange(tx, { kinds: ['passkeys'], userId })
  await recordActivity(tx, inPerson(userId), {
    type: 'passkey.reset',
    workspaceId: reset.workspace_id,
    details: { passkeys },
  })
  return endSessions(tx, userId, { all: true }, endAlong)
}

interface Given {
  readonly invite?: string
  readonly recovery_code?: string
}

/** Which code was given that stands for an existing passkey, if any. It is used up with this transaction. */
export async function letInByCode(
  tx: Tx,
  principal: Principal,
  given: Given,
): Promise<'invite' | 'recovery-code' | undefined> {
  const { userId } = principal
  if (given.invite !== undefined) {
    const code = normalizeUserCode(given.invite)
    if (await store.claimInvite(tx, userId, hashSecret(code))) return 'invite'
    throw badCode('invite', 'unknown, used or older than ten minutes; make a new one on the other device')
  }
  if (given.recovery_code !== undefined) {
    await requireFreshSignIn(tx, principal)
    if (await store.claimRecoveryCode(tx, userId, hashRecoveryCode(given.recovery_code)))
      return 'recovery-code'
    throw badCode('recovery_code', 'unknown or used; try another one')
  }
  return undefined
}

/** What was to be taken away stays: a passkey said so, or one was added and a way in is found. */
export async function endReset(tx: Tx, principal: Principal): Promise<void> {
  if (!(await store.deleteReset(tx, principal.userId))) return
  const { workspaceId } = principal
  await recordActivity(tx, principal, { type: 'passkey.reset_canceled', workspaceId })
}

/** Who has none is told so, and not to use one. */
async function requirePasskey(tx: Tx, userId: string): Promise<void> {
  if (await findAnyPasskey(tx, userId)) return
  throw new ApiError('CONFLICT', { message: 'You have no passkey yet; add one first' })
}

function hashRecoveryCode(typed: string): Buffer {
  return hashSecret(normalizeUserCode(typed))
}

function badCode(field: string, what: string): ApiError {
  return new ApiError('INVALID_INPUT', { message: `${field}: ${what}` })
}
