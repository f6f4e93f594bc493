import { sql } from 'kysely'
import type { Db } from '#platform/database.ts'
import { readTouched, type Touched, type Touching } from '#platform/touched.ts'

/** What a key has stored, and what its executions have left. */
export function listTouchedArtifacts(db: Db, { keyId, since }: Touching): Promise<Touched> {
  return readTouched(
    db,
    sql`select id, name as title, created_at as at, 'undo' as undo
    from artifacts where coalesce(api_key_id, output_of_key) = ${keyId} and created_at >= ${since}`,
  )
}
