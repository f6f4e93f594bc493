// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type { DeviceAuth, Key, KeyAccess, KeyDetail, KeyTouched, NewKey, Success } from './records.ts'

/**
 * The person's keys over all workspaces.
 *
 * Secrets are never shown again; `prefix` tells keys apart.
 */
export const listKeys: Operation<object, Key[]> = { name: 'listKeys', path: '/api/v1/keys' }

/** What is sent to {@link createKey}. */
export interface CreateKeyBody {
  label: string
  access?: KeyAccess | undefined
  scopes?: string[] | undefined
  expiresAt?: string | null | undefined
  /** In Ds; null for none */
  spendLimit?: number | null | undefined
  device_auth?: DeviceAuth | undefined
}

/**
 * Create a key by hand in the workspace the caller acts in.
 *
 * Copy api_key now, it is shown once. Full access needs a passkey (device_auth) where the person has one; 403 says so.
 */
export const createKey: Operation<{ body: CreateKeyBody }, NewKey> = {
  name: 'createKey',
  path: '/api/v1/keys',
  method: 'POST',
  creates: true,
  secret: true,
}

/** What is sent to {@link updateKey}. */
export interface UpdateKeyBody {
  label?: string | undefined
  expiresAt?: string | null | undefined
  /** In Ds; null for none */
  spendLimit?: number | null | undefined
  device_auth?: DeviceAuth | undefined
}

/**
 * Change a key: label, expiry, spend limit; never its scopes.
 *
 * What is left out stays. Scopes change by consent or by removing them, never here. A later end needs what making such a key would: 403 with device_auth_required until a passkey has signed it.
 */
export const updateKey: Operation<{ params: { id: string }; body: UpdateKeyBody }, Key> = {
  name: 'updateKey',
  path: '/api/v1/keys/:id',
  method: 'PATCH',
}

/** What is sent to {@link rotateKey}. */
export interface RotateKeyBody {
  device_auth?: DeviceAuth | undefined
}

/**
 * Give a key a new secret; the old one works for one more hour.
 *
 * Copy api_key now. The key keeps its id, scopes and limits.
 */
export const rotateKey: Operation<{ params: { id: string }; body?: RotateKeyBody | undefined }, NewKey> = {
  name: 'rotateKey',
  path: '/api/v1/keys/:id/rotate',
  method: 'POST',
  creates: true,
  secret: true,
}

/**
 * One key: what it may do for a while, what it runs and what it has spent.
 *
 * Read from the database each time. 404 for a key that is not yours, and for one that has ended.
 */
export const getKey: Operation<{ params: { id: string } }, KeyDetail> = {
  name: 'getKey',
  path: '/api/v1/keys/:id',
}

/**
 * End one permission for a time; others of the same scope stay.
 *
 * Works at once, in every process. 404 when it was used up or is over already.
 */
export const endGrant: Operation<{ params: { id: string; grantId: string } }, Success> = {
  name: 'endGrant',
  path: '/api/v1/keys/:id/grants/:grantId',
  method: 'DELETE',
}

/** What {@link getKeyTouched} can be asked for. */
export interface GetKeyTouchedQuery {
  since?: string | undefined
}

/**
 * What a key did, from where and for how much; also after it was revoked.
 *
 * Since a day ago, or since then; at most 30 days, and the answer says since when. 404 for a key that is not yours.
 */
export const getKeyTouched: Operation<
  { params: { id: string }; query?: GetKeyTouchedQuery | undefined },
  KeyTouched
> = { name: 'getKeyTouched', path: '/api/v1/keys/:id/touched' }

/** What {@link revokeKey} can be asked for. */
export interface RevokeKeyQuery {
  stopRunning?: boolean | undefined
}

/** What {@link revokeKey} answers. */
export interface RevokeKeyAnswer {
  success: true
  /** How many executions and runs were ended */
  stopped: number
  /** How many of these were runs of workflows and of chats */
  stoppedRuns: number
  /** Permissions for a time that were not used up */
  endedGrants: number
  /** What it had asked and nobody can decide any more */
  droppedRequests: number
}

/**
 * Revoke a key for good; with stopRunning, also once more for what a revoked one still runs.
 *
 * Works in every process at once. With stopRunning what the key has started is stopped and counted.
 */
export const revokeKey: Operation<
  { params: { id: string }; query?: RevokeKeyQuery | undefined },
  RevokeKeyAnswer
> = { name: 'revokeKey', path: '/api/v1/keys/:id', method: 'DELETE' }

/** What is sent to {@link revokeKeys}. */
export interface RevokeKeysBody {
  ids?: number[] | undefined
  /** Those whose activity is DORMANT, the oldest first, at most 100 */
  dormant?: boolean | undefined
  stopRunning?: boolean | undefined
}

/** What {@link revokeKeys} answers. */
export interface RevokeKeysAnswer {
  success: true
  /** The keys that have ended, by id */
  revoked: number[]
  /** There are more dormant ones: send it again */
  more: boolean
  /** How many executions and runs were ended */
  stopped: number
  /** How many of these were runs of workflows and of chats */
  stoppedRuns: number
  /** Permissions for a time that were not used up */
  endedGrants: number
  /** What it had asked and nobody can decide any more */
  droppedRequests: number
}

/**
 * Revoke several keys together, or all that nobody has used for 30 days.
 *
 * Send ids, or dormant. All of them end in one step or none does: 404 when one is not yours. What was revoked before counts as done, so it can be sent again.
 */
export const revokeKeys: Operation<{ body: RevokeKeysBody }, RevokeKeysAnswer> = {
  name: 'revokeKeys',
  path: '/api/v1/keys/revoke',
  method: 'POST',
  repeatable: true,
}

/** What {@link revokeOwnKey} can be asked for. */
export interface RevokeOwnKeyQuery {
  stopRunning?: boolean | undefined
}

/** What {@link revokeOwnKey} answers. */
export interface RevokeOwnKeyAnswer {
  success: true
  /** How many executions and runs were ended */
  stopped: number
  /** How many of these were runs of workflows and of chats */
  stoppedRuns: number
  /** Permissions for a time that were not used up */
  endedGrants: number
  /** What it had asked and nobody can decide any more */
  droppedRequests: number
}

/**
 * End the key that asks, at once and in every process.
 *
 * For an agent that signs out or has leaked its key. With stopRunning what it runs is ended too. From then on the key gets 401.
 */
export const revokeOwnKey: Operation<{ query?: RevokeOwnKeyQuery | undefined }, RevokeOwnKeyAnswer> = {
  name: 'revokeOwnKey',
  path: '/api/v1/agents/me',
  method: 'DELETE',
}

/** What is sent to {@link reportLeakedKey}. */
export interface ReportLeakedKeyBody {
  key: string
}

/** What {@link reportLeakedKey} answers. */
export interface ReportLeakedKeyAnswer {
  success: true
  revoked: boolean
}

/**
 * Anybody who finds a key can have it revoked by presenting it.
 *
 * Needs no credential and tells nothing about the key but whether it worked until now.
 */
export const reportLeakedKey: Operation<{ body: ReportLeakedKeyBody }, ReportLeakedKeyAnswer> = {
  name: 'reportLeakedKey',
  path: '/api/v1/keys/report-leak',
  method: 'POST',
  public: true,
}

/** One method for each of these operations. */
export class Keys extends Resource {
  /**
   * The person's keys over all workspaces.
   *
   * Secrets are never shown again; `prefix` tells keys apart.
   */
  list(options?: CallOptions): Promise<Key[]> {
    return this.client.call({ name: 'listKeys', path: '/api/v1/keys' }, {}, options)
  }
  /**
   * Create a key by hand in the workspace the caller acts in.
   *
   * Copy api_key now, it is shown once. Full access needs a passkey (device_auth) where the person has one; 403 says so.
   */
  create(body: CreateKeyBody, options?: CallOptions): Promise<NewKey> {
    return this.client.call(
      { name: 'createKey', path: '/api/v1/keys', method: 'POST', creates: true, secret: true },
      { body },
      options,
    )
  }
  /**
   * Change a key: label, expiry, spend limit; never its scopes.
   *
   * What is left out stays. Scopes change by consent or by removing them, never here. A later end needs what making such a key would: 403 with device_auth_required until a passkey has signed it.
   */
  update(id: string, body: UpdateKeyBody, options?: CallOptions): Promise<Key> {
    return this.client.call(
      { name: 'updateKey', path: '/api/v1/keys/:id', method: 'PATCH' },
      { params: { id }, body },
      options,
    )
  }
  /**
   * Give a key a new secret; the old one works for one more hour.
   *
   * Copy api_key now. The key keeps its id, scopes and limits.
   */
  rotate(id: string, body?: RotateKeyBody, options?: CallOptions): Promise<NewKey> {
    return this.client.call(
      { name: 'rotateKey', path: '/api/v1/keys/:id/rotate', method: 'POST', creates: true, secret: true },
      { params: { id }, body },
      options,
    )
  }
  /**
   * One key: what it may do for a while, what it runs and what it has spent.
   *
   * Read from the database each time. 404 for a key that is not yours, and for one that has ended.
   */
  get(id: string, options?: CallOptions): Promise<KeyDetail> {
    return this.client.call({ name: 'getKey', path: '/api/v1/keys/:id' }, { params: { id } }, options)
  }
  /**
   * End one permission for a time; others of the same scope stay.
   *
   * Works at once, in every process. 404 when it was used up or is over already.
   */
  endGrant(id: string, grantId: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'endGrant', path: '/api/v1/keys/:id/grants/:grantId', method: 'DELETE' },
      { params: { id, grantId } },
      options,
    )
  }
  /**
   * What a key did, from where and for how much; also after it was revoked.
   *
   * Since a day ago, or since then; at most 30 days, and the answer says since when. 404 for a key that is not yours.
   */
  touched(id: string, query?: GetKeyTouchedQuery, options?: CallOptions): Promise<KeyTouched> {
    return this.client.call(
      { name: 'getKeyTouched', path: '/api/v1/keys/:id/touched' },
      { params: { id }, query },
      options,
    )
  }
  /**
   * Revoke a key for good; with stopRunning, also once more for what a revoked one still runs.
   *
   * Works in every process at once. With stopRunning what the key has started is stopped and counted.
   */
  revoke(id: string, query?: RevokeKeyQuery, options?: CallOptions): Promise<RevokeKeyAnswer> {
    return this.client.call(
      { name: 'revokeKey', path: '/api/v1/keys/:id', method: 'DELETE' },
      { params: { id }, query },
      options,
    )
  }
  /**
   * Revoke several keys together, or all that nobody has used for 30 days.
   *
   * Send ids, or dormant. All of them end in one step or none does: 404 when one is not yours. What was revoked before counts as done, so it can be sent again.
   */
  revokeMany(body: RevokeKeysBody, options?: CallOptions): Promise<RevokeKeysAnswer> {
    return this.client.call(
      { name: 'revokeKeys', path: '/api/v1/keys/revoke', method: 'POST', repeatable: true },
      { body },
      options,
    )
  }
  /**
   * End the key that asks, at once and in every process.
   *
   * For an agent that signs out or has leaked its key. With stopRunning what it runs is ended too. From then on the key gets 401.
   */
  revokeSelf(query?: RevokeOwnKeyQuery, options?: CallOptions): Promise<RevokeOwnKeyAnswer> {
    return this.client.call(
      { name: 'revokeOwnKey', path: '/api/v1/agents/me', method: 'DELETE' },
      { query },
      options,
    )
  }
  /**
   * Anybody who finds a key can have it revoked by presenting it.
   *
   * Needs no credential and tells nothing about the key but whether it worked until now.
   */
  reportLeak(body: ReportLeakedKeyBody, options?: CallOptions): Promise<ReportLeakedKeyAnswer> {
    return this.client.call(
      { name: 'reportLeakedKey', path: '/api/v1/keys/report-leak', method: 'POST', public: true },
      { body },
      options,
    )
  }
}
