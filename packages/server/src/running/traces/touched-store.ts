import { touchedCounted } from '@guildhall/contract'
import { sql } from 'kysely'
import type { Db } from '#platform/database.ts'
import { readTouched, type Touched, type Touching } from '#platform/touched.ts'

/** Traces that a key has written into; those of what it started come with that. */
export function listTouchedTraces(db: Db, { keyId, workspaceId, since }: Touching): Promise<Touched> {
  return readTouched(
    db,
    sql`select t.id, t.title, written.at, null as undo
    from (select trace_id, max(at) as at
        from (select trace_id, at from trace_turns where api_key_id = ${keyId} and at >= ${since}
          order by at desc limit ${sql.lit(touchedCounted)}) newest
        group by trace_id) written
      join traces t on t.id = written.trace_id and t.workspace_id = ${workspaceId}`,
  )
}
