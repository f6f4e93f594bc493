import { toDs } from '@guildhall/contract'
import { sumSpentOfKeys } from '#accounts/billing/billing.ts'
import type { Db } from '#platform/database.ts'
import { secretPrefixes } from '#platform/secrets.ts'
import type * as store from './store.ts'

const activeSeconds = 24 * 3600
/** Longer than this without use, and a key is dormant. */
export const idleSeconds = 30 * 24 * 3600

export async function describeKey(db: Db, row: store.KeyRow) {
  const [key] = await describeKeys(db, [row])
  if (!key) throw new Error('A key that was read is not told')
  return key
}

/** However many there are, what they have spent of late is read at once. */
export async function describeKeys(db: Db, rows: readonly store.KeyRow[]) {
  const ids = rows.map(({ id }) => id)
  const spent = new Map((await sumSpentOfKeys(db, ids)).map((sum) => [sum.keyId, sum]))
  return rows.map((row) => describe(row, spent.get(row.id)))
}

interface Spent {
  readonly todayMilliDs: number
  readonly monthMilliDs: number
}

function describe(row: store.KeyRow, spent: Spent | undefined) {
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
      today: toDs(spent?.todayMilliDs ?? 0),
      month: toDs(spent?.monthMilliDs ?? 0),
    },
  }
}

/** A key nobody has used yet is at best idle. */
function activityOf(row: store.KeyRow): 'ACTIVE' | 'IDLE' | 'DORMANT' {
  if (row.last_used_at !== null && row.quiet_seconds <= activeSeconds) return 'ACTIVE'
  return row.quiet_seconds <= idleSeconds ? 'IDLE' : 'DORMANT'
}
