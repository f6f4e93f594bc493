import {
  type ActivityType,
  accessOf,
  describeScope,
  fromDs,
  fullAccess,
  type KeyWish,
  keyRoutes,
  succeeded,
  toDs,
} from '@guildhall/contract'
import { type Author, recordActivity } from '../activity/activity.ts'
import type { Deps } from '../deps.ts'
import { createOnce } from '../idempotency/idempotency.ts'
import { bindRoutes } from '../operations/bind.ts'
import { ApiError } from '../operations/errors.ts'
import type { Tx } from '../platform/database.ts'
import { parseRowId } from '../platform/ids.ts'
import { readMoment } from '../platform/moment.ts'
import { secretPrefixes } from '../platform/secrets.ts'
import { createKey, giveSecret, type KeyCheck } from './keys.ts'
import * as store from './store.ts'

const rotationOverlapSeconds = 3600
const activeSeconds = 24 * 3600
const idleSeconds = 30 * 24 * 3600

/** Refuses who has a passkey and did not assert it for exactly this key. */
type RequireDeviceAuth = (tx: Tx, userId: string, wish: KeyWish, deviceAuth: unknown) => Promise<void>

interface KeyDoors {
  requireDeviceAuth: RequireDeviceAuth
  /** Ends whatever a key has running; how much that was. */
  stopRunning(keyId: number, by: Author): Promise<number>
}

export function keyHandlers(check: KeyCheck, { requireDeviceAuth, stopRunning }: KeyDoors) {
  const requireProof = async (tx: Tx, userId: string, wish: KeyWish, deviceAuth: unknown) => {
    const sensitive = wish.scopes?.some((scope) => describeScope(scope)?.sensitive)
    if (accessOf(wish) === 'full' || sensitive) await requireDeviceAuth(tx, userId, wish, deviceAuth)
  }
  return bindRoutes(keyRoutes, {
    listKeys: async ({ principal, deps }) => {
      const rows = await store.listKeys(deps.database.db, principal.userId)
      return rows.map(describeKey)
    },

    createKey: (call) =>
      createOnce(call, async (tx) => {
        const { principal, body, deps } = call
        if (body.access === 'full' && body.scopes) {
          throw new ApiError('INVALID_INPUT', {
            message: 'access: full takes no scopes; leave one of the two out',
          })
        }
        const access = accessOf(body)
        const scopes = body.scopes && knownScopes(body.scopes)
        await requireProof(tx, principal.userId, { access, scopes }, body.device_auth)
        const keyId = await createKey(tx, {
          workspaceId: principal.workspaceId,
          userId: principal.userId,
          label: body.label.trim(),
          access,
          createdVia: 'manual',
          ...(scopes ? { scopes } : {}),
          expiresAt: timeOrNull(body.expiresAt),
          spendLimitMilliDs: milliDs(body.spendLimit),
        })
        const secret = await giveSecret(tx, deps.config, keyId)
        const row = await store.findKey(tx, principal.userId, keyId)
        if (!row) throw new Error('A key that was just made is not there')
        await record(tx, principal, 'key.created', row)
        return { resourceId: String(keyId), answer: { ...describeKey(row), api_key: secret } }
      }),

    updateKey: async ({ principal, params, body, deps }) => {
      const keyId = rowId(params.id)
      const changes = {
        ...(body.label !== undefined ? { label: body.label.trim() } : {}),
        ...(body.expiresAt !== undefined ? { expires_at: timeOrNull(body.expiresAt) } : {}),
        ...(body.spendLimit !== undefined ? { spend_limit_milli_ds: milliDs(body.spendLimit) } : {}),
      }
      const row = await deps.database.transaction(async (tx) => {
        const changed = Object.keys(changes).length > 0
        if (changed && !(await store.updateKey(tx, principal.userId, keyId, changes)))
          throw new ApiError('NOT_FOUND')
        const found = await store.findKey(tx, principal.userId, keyId)
        if (!found) throw new ApiError('NOT_FOUND')
        const { expires_at: expiresAt, spend_limit_milli_ds: limit } = found
        const now = { expiresAt, spendLimit: toDs(limit) }
        if (changed) await record(tx, principal, 'key.updated', found, now)
        return found
      })
      if (body.expiresAt !== undefined) await check.announceChange(keyId)
      return describeKey(row)
    },

    rotateKey: (call) =>
      createOnce(call, async (tx) => {
        const { principal, params, body, deps } = call
        const keyId = rowId(params.id)
        const before = await store.findKey(tx, principal.userId, keyId)
        if (!before) throw new ApiError('NOT_FOUND')
        // A new secret is as good as a new key: who could not make this key cannot renew it either.
        await requireProof(tx, principal.userId, wishFor(before.scopes), body.device_auth)
        const key = await store.lockKey(tx, principal.userId, keyId)
        if (!key) throw new ApiError('NOT_FOUND')
        if (key.claim_before) {
          throw new ApiError('CONFLICT', {
            message: 'This key has no secret yet: its agent has not collected it',
          })
        }
        await store.expireSecrets(tx, keyId, rotationOverlapSeconds)
        const secret = await giveSecret(tx, deps.config, keyId)
        const row = await store.findKey(tx, principal.userId, keyId)
        if (!row) throw new ApiError('NOT_FOUND')
        await record(tx, principal, 'key.rotated', row)
        return { resourceId: String(keyId), answer: { ...describeKey(row), api_key: secret } }
      }),

    revokeKey: async ({ principal, params, query, deps }) => {
      const key = { id: rowId(params.id), userId: principal.userId }
      const revoked = await revoke(deps, principal, key, 'revoked')
      if (revoked) await check.announceChange(key.id)
      // What one that has ended still runs can be stopped: it was reported, or the first try did not come that far.
      const mayStop = query.stopRunning && (revoked || (await store.findRevoked(deps.database.db, key)))
      if (!revoked && !mayStop) throw new ApiError('NOT_FOUND')
      return { ...succeeded, stopped: mayStop ? await stopRunning(key.id, principal) : 0 }
    },

    reportLeakedKey: async ({ body, client, deps }) => {
      const leaked = await check.authenticate(body.key.trim(), client.address)
      if (!leaked) return { ...succeeded, revoked: false }
      const key = { id: leaked.credentialId }
      const revoked = await revoke(deps, 'anonymous', key, 'leak_reported')
      await check.announceChange(key.id)
      if (revoked)
        deps.logger.warn({ keyId: revoked.id, userId: revoked.user_id }, 'key revoked: reported as leaked')
      return { ...succeeded, revoked: revoked !== undefined }
    },
  })
}

/** The audit line is how the owner of a leaked key learns of it. */
async function revoke(
  deps: Deps,
  author: Author,
  key: { id: number; userId?: string },
  because: 'revoked' | 'leak_reported',
) {
  return deps.database.transaction(async (tx) => {
    const revoked = await store.claimRevocation(tx, key, because)
    if (revoked)
      await record(tx, author, because === 'revoked' ? 'key.revoked' : 'key.leak_reported', revoked)
    return revoked
  })
}

async function record(
  tx: Tx,
  author: Author,
  type: Extract<ActivityType, `key.${string}`>,
  key: { id: number; label: string; workspace_id: string },
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await recordActivity(tx, author, {
    type,
    workspaceId: key.workspace_id,
    details: { keyId: key.id, label: key.label, ...more },
  })
}

/** What somebody would have to ask for to get a key with these scopes. */
function wishFor(scopes: readonly string[]): KeyWish {
  return scopes.includes(fullAccess) ? { access: 'full' } : { scopes }
}

/** A path id that cannot be a row's is as missing as one that is not. */
function rowId(text: string): number {
  const id = parseRowId(text)
  if (id === undefined) throw new ApiError('NOT_FOUND')
  return id
}

function knownScopes(scopes: readonly string[]): readonly string[] {
  const unknown = scopes.filter((scope) => !describeScope(scope))
  if (unknown.length === 0) return scopes
  throw new ApiError('INVALID_INPUT', {
    message: `Unknown scope: ${unknown.join(', ')}`,
    details: { unknown },
  })
}

/** In the one spelling that is stored. A time that has passed is allowed: it ends the key now. */
function timeOrNull(value: string | null | undefined): string | null {
  if (value === undefined || value === null) return null
  const moment = readMoment(value)
  if (moment === undefined) throw new ApiError('INVALID_INPUT', { message: 'expiresAt: not a time' })
  return moment
}

function milliDs(value: number | null | undefined): number | null {
  return value === undefined || value === null ? null : fromDs(value)
}

function describeKey(row: store.KeyRow) {
  return {
    id: row.id,
    label: row.label,
    prefix: secretPrefixes.apiKey + (row.hint ?? ''),
    workspace: { id: row.workspace_id, name: row.workspace_name },
    scopes: row.scopes,
    activated: row.activated_at !== null,
    activity: activityOf(row),
    createdVia: row.created_via,
    clientLabel: row.client_label,
    clientUa: row.client_ua,
    clientIp: row.client_ip,
    lastUsedAt: row.last_used_at,
    lastUsedIp: row.last_used_ip,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    spend: {
      total: toDs(row.spent_milli_ds),
      limit: toDs(row.spend_limit_milli_ds),
    },
  }
}

/** A key nobody has used yet is at best idle. */
function activityOf(row: store.KeyRow): 'ACTIVE' | 'IDLE' | 'DORMANT' {
  if (row.last_used_at !== null && row.quiet_seconds <= activeSeconds) return 'ACTIVE'
  return row.quiet_seconds <= idleSeconds ? 'IDLE' : 'DORMANT'
}
