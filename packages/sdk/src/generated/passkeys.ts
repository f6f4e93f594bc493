// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type { DeviceAuth, GrantMode, KeyAccess, Passkey, Success, UserCode } from './records.ts'

/**
 * The person's passkeys.
 *
 * Approvals of sensitive scopes are signed by one of them.
 */
export const listPasskeys: Operation<object, Passkey[]> = { name: 'listPasskeys', path: '/api/v1/passkeys' }

/** What is sent to {@link preparePasskey}. */
export interface PreparePasskeyBody {
  /** register if left out */
  purpose?:
    | 'register'
    | 'remove'
    | 'create-key'
    | 'confirm'
    | 'invite'
    | 'recovery-codes'
    | 'cancel-reset'
    | undefined
  passkeyId?: string | undefined
  access?: KeyAccess | undefined
  scopes?: string[] | undefined
  code?: UserCode | undefined
  modes?: Record<string, GrantMode> | undefined
}

/** What {@link preparePasskey} answers. */
export interface PreparePasskeyAnswer {
  /** Options to create a passkey; null unless registering */
  registration: unknown
  /** Options to assert an existing one; null when none is needed */
  assertion: unknown
  expires_at: string | null
}

/**
 * What the browser needs to register a passkey, or to assert one for something other than an approval.
 *
 * Give the options to navigator.credentials, then send its answer to the route that asked for it, with exactly the same access, scopes and modes.
 */
export const preparePasskey: Operation<{ body?: PreparePasskeyBody | undefined }, PreparePasskeyAnswer> = {
  name: 'preparePasskey',
  path: '/api/v1/passkeys/options',
  method: 'POST',
  repeatable: true,
}

/** What is sent to {@link createPasskey}. */
export interface CreatePasskeyBody {
  name?: string | undefined
  credential: DeviceAuth
  device_auth?: DeviceAuth | undefined
  /** A code of passkeys/invites, instead of device_auth */
  invite?: string | undefined
  /** One of the recovery codes, instead of device_auth; needs a sign-in of the last ten minutes */
  recovery_code?: string | undefined
}

/**
 * Register a passkey; a further one needs an assertion by an existing one.
 *
 * Options come from passkeys/options and fit once. 403 with device_auth_required: assert an existing passkey, or give a code of passkeys/invites or a recovery code.
 */
export const createPasskey: Operation<{ body: CreatePasskeyBody }, Passkey> = {
  name: 'createPasskey',
  path: '/api/v1/passkeys',
  method: 'POST',
  creates: true,
}

/** What is sent to {@link removePasskey}. */
export interface RemovePasskeyBody {
  device_auth?: DeviceAuth | undefined
}

/**
 * Remove a passkey; needs an assertion by an existing one.
 *
 * 403 with device_auth_required until an existing passkey has signed it.
 */
export const removePasskey: Operation<
  { params: { id: string }; body?: RemovePasskeyBody | undefined },
  Success
> = { name: 'removePasskey', path: '/api/v1/passkeys/:id', method: 'DELETE' }

/** What {@link getPasskeyRecovery} answers. */
export interface GetPasskeyRecoveryAnswer {
  codes_left: number
  reset: {
    asked_at: string
    effective_at: string
  } | null
}

/**
 * What is left for the day a passkey is lost.
 *
 * How many recovery codes are unused, and whether the passkeys are about to be taken away.
 */
export const getPasskeyRecovery: Operation<object, GetPasskeyRecoveryAnswer> = {
  name: 'getPasskeyRecovery',
  path: '/api/v1/passkeys/recovery',
}

/** What is sent to {@link invitePasskey}. */
export interface InvitePasskeyBody {
  device_auth?: DeviceAuth | undefined
}

/** What {@link invitePasskey} answers. */
export interface InvitePasskeyAnswer {
  code: string
  expires_at: string
}

/**
 * A code by which another device of this person adds its passkey.
 *
 * Signed by a passkey that exists (purpose invite). Good once, for ten minutes and for this person alone; a new one takes the place of the one before.
 */
export const invitePasskey: Operation<{ body?: InvitePasskeyBody | undefined }, InvitePasskeyAnswer> = {
  name: 'invitePasskey',
  path: '/api/v1/passkeys/invites',
  method: 'POST',
  creates: true,
  secret: true,
}

/** What is sent to {@link createRecoveryCodes}. */
export interface CreateRecoveryCodesBody {
  device_auth?: DeviceAuth | undefined
}

/** What {@link createRecoveryCodes} answers. */
export interface CreateRecoveryCodesAnswer {
  codes: string[]
}

/**
 * Ten codes, each of which adds a passkey once when all passkeys are lost.
 *
 * Signed by a passkey that exists (purpose recovery-codes). They are shown this once and take the place of all earlier ones.
 */
export const createRecoveryCodes: Operation<
  { body?: CreateRecoveryCodesBody | undefined },
  CreateRecoveryCodesAnswer
> = {
  name: 'createRecoveryCodes',
  path: '/api/v1/passkeys/recovery-codes',
  method: 'POST',
  creates: true,
  secret: true,
}

/** What {@link resetPasskeys} answers. */
export interface ResetPasskeysAnswer {
  effective_at: string
}

/**
 * Have all passkeys taken away in 72 hours, for who has lost them and the recovery codes.
 *
 * Needs a sign-in of the last ten minutes. Every browser of the person is told; a passkey that still exists can cancel it until then. Asked for again, it is the one that is under way.
 */
export const resetPasskeys: Operation<object, ResetPasskeysAnswer> = {
  name: 'resetPasskeys',
  path: '/api/v1/passkeys/reset',
  method: 'POST',
}

/** What is sent to {@link cancelPasskeyReset}. */
export interface CancelPasskeyResetBody {
  device_auth?: DeviceAuth | undefined
}

/**
 * Keep the passkeys; signed by one of them.
 *
 * 403 with device_auth_required until a passkey has signed it (purpose cancel-reset).
 */
export const cancelPasskeyReset: Operation<{ body?: CancelPasskeyResetBody | undefined }, Success> = {
  name: 'cancelPasskeyReset',
  path: '/api/v1/passkeys/reset',
  method: 'DELETE',
}

/** One method for each of these operations. */
export class Passkeys extends Resource {
  /**
   * The person's passkeys.
   *
   * Approvals of sensitive scopes are signed by one of them.
   */
  list(options?: CallOptions): Promise<Passkey[]> {
    return this.client.call({ name: 'listPasskeys', path: '/api/v1/passkeys' }, {}, options)
  }
  /**
   * What the browser needs to register a passkey, or to assert one for something other than an approval.
   *
   * Give the options to navigator.credentials, then send its answer to the route that asked for it, with exactly the same access, scopes and modes.
   */
  prepare(body?: PreparePasskeyBody, options?: CallOptions): Promise<PreparePasskeyAnswer> {
    return this.client.call(
      { name: 'preparePasskey', path: '/api/v1/passkeys/options', method: 'POST', repeatable: true },
      { body },
      options,
    )
  }
  /**
   * Register a passkey; a further one needs an assertion by an existing one.
   *
   * Options come from passkeys/options and fit once. 403 with device_auth_required: assert an existing passkey, or give a code of passkeys/invites or a recovery code.
   */
  create(body: CreatePasskeyBody, options?: CallOptions): Promise<Passkey> {
    return this.client.call(
      { name: 'createPasskey', path: '/api/v1/passkeys', method: 'POST', creates: true },
      { body },
      options,
    )
  }
  /**
   * Remove a passkey; needs an assertion by an existing one.
   *
   * 403 with device_auth_required until an existing passkey has signed it.
   */
  remove(id: string, body?: RemovePasskeyBody, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'removePasskey', path: '/api/v1/passkeys/:id', method: 'DELETE' },
      { params: { id }, body },
      options,
    )
  }
  /**
   * What is left for the day a passkey is lost.
   *
   * How many recovery codes are unused, and whether the passkeys are about to be taken away.
   */
  recovery(options?: CallOptions): Promise<GetPasskeyRecoveryAnswer> {
    return this.client.call({ name: 'getPasskeyRecovery', path: '/api/v1/passkeys/recovery' }, {}, options)
  }
  /**
   * A code by which another device of this person adds its passkey.
   *
   * Signed by a passkey that exists (purpose invite). Good once, for ten minutes and for this person alone; a new one takes the place of the one before.
   */
  invite(body?: InvitePasskeyBody, options?: CallOptions): Promise<InvitePasskeyAnswer> {
    return this.client.call(
      {
        name: 'invitePasskey',
        path: '/api/v1/passkeys/invites',
        method: 'POST',
        creates: true,
        secret: true,
      },
      { body },
      options,
    )
  }
  /**
   * Ten codes, each of which adds a passkey once when all passkeys are lost.
   *
   * Signed by a passkey that exists (purpose recovery-codes). They are shown this once and take the place of all earlier ones.
   */
  createRecoveryCodes(
    body?: CreateRecoveryCodesBody,
    options?: CallOptions,
  ): Promise<CreateRecoveryCodesAnswer> {
    return this.client.call(
      {
        name: 'createRecoveryCodes',
        path: '/api/v1/passkeys/recovery-codes',
        method: 'POST',
        creates: true,
        secret: true,
      },
      { body },
      options,
    )
  }
  /**
   * Have all passkeys taken away in 72 hours, for who has lost them and the recovery codes.
   *
   * Needs a sign-in of the last ten minutes. Every browser of the person is told; a passkey that still exists can cancel it until then. Asked for again, it is the one that is under way.
   */
  reset(options?: CallOptions): Promise<ResetPasskeysAnswer> {
    return this.client.call(
      { name: 'resetPasskeys', path: '/api/v1/passkeys/reset', method: 'POST' },
      {},
      options,
    )
  }
  /**
   * Keep the passkeys; signed by one of them.
   *
   * 403 with device_auth_required until a passkey has signed it (purpose cancel-reset).
   */
  cancelReset(body?: CancelPasskeyResetBody, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'cancelPasskeyReset', path: '/api/v1/passkeys/reset', method: 'DELETE' },
      { body },
      options,
    )
  }
}
