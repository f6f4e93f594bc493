import {
  accessOf,
  describeScope,
  fromDs,
  fullAccess,
  type KeyInput,
  keyRoutes,
  toDs,
} from '@guildhall/contract'
import { lockUser } from '#accounts/users/users.ts'
import { bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { createOnce } from '#operations/idempotency/idempotency.ts'
import { walkPages } from '#operations/page.ts'
import { requireRowId } from '#operations/row-id.ts'
import type { Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { readMoment } from '#platform/moment.ts'
import { deleteOldAddresses } from './address-store.ts'
import { describeKey, describeKeys } from './describe.ts'
import { createKey, giveSecret, type KeyCheck, requireKnownScopes } from './keys.ts'
import { recordKey } from './record.ts'
import { type EndDoors, keyEndHandlers } from './revoke.ts'
import * as secretStore from './secret-store.ts'
import * as store from './store.ts'

const rotationOverlapSeconds = 3600
const readAtOnce = 200
const idOf = ({ id }: { id: number }) => id

/** Refuses who has a passkey and did not assert it for exactly this key. Gives its name. */
type RequireDeviceAuth = (
  tx: Tx,
  userId: string,
  input: KeyInput,
  deviceAuth: unknown,
) => Promise<string | undefined>

export function keyFeature(
  deps: Deps,
  check: KeyCheck,
  { requireDeviceAuth, ...endDoors }: EndDoors & { requireDeviceAuth: RequireDeviceAuth },
): Feature {
  const requireProof = async (tx: Tx, userId: string, input: KeyInput, deviceAuth: unknown) => {
    const sensitive = input.scopes?.some((scope) => describeScope(scope)?.sensitive)
    const isNeeded = accessOf(input) === 'full' || sensitive
    return isNeeded ? requireDeviceAuth(tx, userId, input, deviceAuth) : undefined
  }
  const routes = bindRoutes(keyRoutes, {
    listKeys: async ({ principal, deps }) => {
      const { db } = deps.database
      const page = async (below: number, limit: number) =>
        describeKeys(db, await store.listKeys(db, principal.userId, below, limit))
      // There may be any number of them.
      const pages = { start: Number.MAX_SAFE_INTEGER, size: readAtOnce }
      return { items: walkPages(pages, page, idOf, (key) => key) }
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
        const { scopes } = body
        requireKnownScopes(scopes ?? [])
        const passkey = await requireProof(tx, principal.userId, { access, scopes }, body.device_auth)
        const keyId = await createKey(tx, {
          workspaceId: principal.workspaceId,
          userId: principal.userId,
          label: body.label.trim(),
          access,
          createdVia: 'manual',
          passkey,
          ...(scopes ? { scopes } : {}),
          expiresAt: timeOrNull(body.expiresAt),
          spendLimitMilliDs: milliDs(body.spendLimit),
        })
        const secret = await giveSecret(tx, deps.config, keyId)
        const row = await store.findKey(tx, principal.userId, keyId)
        if (!row) throw new Error('A key that was just made is not there')
        await recordKey(tx, principal, 'key.created', row)
        return { resourceId: String(keyId), answer: { ...(await describeKey(tx, row)), api_key: secret } }
      }),

    updateKey: async ({ principal, params, body, deps }) => {
      const keyId = requireRowId(params.id)
      const changes = {
        ...(body.label !== undefined ? { label: body.label.trim() } : {}),
        ...(body.expiresAt !== undefined ? { expires_at: timeOrNull(body.expiresAt) } : {}),
        ...(body.spendLimit !== undefined ? { spend_limit_milli_ds: milliDs(body.spendLimit) } : {}),
      }
      const row = await deps.database.transaction(async (tx) => {
        const changed = Object.keys(changes).length > 0
        if (changes.expires_at !== undefined) {
          // Of two changes of an end each is compared with what the other one left.
          await lockUser(tx, principal.userId)
          const before = await store.findKey(tx, principal.userId, keyId)
          if (!before) throw new ApiError('NOT_FOUND')
          // More time is as good as a new key, and an end that has passed is as good as none.
          if (isLater(changes.expires_at, before.expires_at))
            await requireProof(tx, principal.userId, keyInputFor(before.scopes), body.device_auth)
        }
        if (changed && !(await store.updateKey(tx, principal.userId, keyId, changes)))
          throw new ApiError('NOT_FOUND')
        const found = await store.findKey(tx, principal.userId, keyId)
        if (!found) throw new ApiError('NOT_FOUND')
        const { expires_at: expiresAt, spend_limit_milli_ds: limit } = found
        const now = { expiresAt, spendLimit: toDs(limit) }
        if (changed) await recordKey(tx, principal, 'key.updated', found, now)
        return found
      })
      if (body.expiresAt !== undefined) await check.announceChange(keyId)
      return describeKey(deps.database.db, row)
    },

    rotateKey: (call) =>
      createOnce(call, async (tx) => {
        const { principal, params, body, deps } = call
        const keyId = requireRowId(params.id)
        const before = await store.findKey(tx, principal.userId, keyId)
        if (!before) throw new ApiError('NOT_FOUND')
        // A new secret is as good as a new key: who could not make this key cannot renew it either.
        await requireProof(tx, principal.userId, keyInputFor(before.scopes), body.device_auth)
        const key = await store.lockKey(tx, principal.userId, keyId)
        if (!key) throw new ApiError('NOT_FOUND')
        if (key.claim_before) {
          throw new ApiError('CONFLICT', {
            message: 'This key has no secret yet: its agent has not collected it',
          })
        }
        await secretStore.expireSecrets(tx, keyId, rotationOverlapSeconds)
        const secret = await giveSecret(tx, deps.config, keyId)
        const row = await store.findKey(tx, principal.userId, keyId)
        if (!row) throw new ApiError('NOT_FOUND')
        await recordKey(tx, principal, 'key.rotated', row)
        return { resourceId: String(keyId), answer: { ...(await describeKey(tx, row)), api_key: secret } }
      }),
  })
  const { db } = deps.database
  return {
    routes: [...routes, ...keyEndHandlers(deps, check, endDoors)],
    sweeps: [
      { table: 'api_keys', run: () => store.deleteUnclaimedKeys(db) },
      { table: 'key_addresses', run: () => deleteOldAddresses(db) },
      { table: 'api_key_secrets', run: () => secretStore.deleteEndedSecrets(db) },
    ],
  }
}

/** What somebody would have to ask for to get a key with these scopes. */
function keyInputFor(scopes: readonly string[]): KeyInput {
  return scopes.includes(fullAccess) ? { access: 'full' } : { scopes }
}

/** In the one spelling that is stored. A time that has passed is allowed: it ends the key now. */
function timeOrNull(value: string | null | undefined): string | null {
  if (value === undefined || value === null) return null
  const moment = readMoment(value)
  if (moment === undefined) throw new ApiError('INVALID_INPUT', { message: 'expiresAt: not a time' })
  return moment
}

function isLater(end: string | null, before: string | null): boolean {
  return before !== null && (end === null || Date.parse(end) > Date.parse(before))
}

function milliDs(value: number | null | undefined): number | null {
  return value === undefined || value === null ? null : fromDs(value)
}
