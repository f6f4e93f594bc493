import { toDs } from '@guildhall/contract'
import { ApiError } from '#operations/errors.ts'
import type { Db } from '#platform/database.ts'
import { describeKey } from './describe.ts'
import { findOldSecretEnd } from './secret-store.ts'
import * as store from './store.ts'

/** One key of this person's, as far as it is known here. Not found alike for a foreign and an unknown one. */
export async function readKey(db: Db, userId: string, keyId: number) {
  const row = await store.findKey(db, userId, keyId)
  if (!row) throw new ApiError('NOT_FOUND')
  const key = await describeKey(db, row)
  return {
    ...key,
    spend: { ...key.spend, period: 'total' as const, reserved: toDs(row.reserved_milli_ds) },
    oldSecretUntil: await findOldSecretEnd(db, keyId),
  }
}
