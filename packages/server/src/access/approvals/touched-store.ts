import { sql } from 'kysely'
import type { Db } from '#platform/database.ts'
import { readTouched, type Touched, type Touching } from '#platform/touched.ts'

/** What people have allowed a key. Whether it still holds is known where permissions are kept. */
export function listAllowedOfKey(db: Db, { keyId, since }: Touching): Promise<Touched> {
  return readTouched(
    db,
    sql`select id, array_to_string(scopes, ', ') as title, created_at as at, null as undo
    from approval_requests
    where key_id = ${keyId} and created_at >= ${since} and status = 'granted' and kind in ('permission', 'consent')`,
  )
}
