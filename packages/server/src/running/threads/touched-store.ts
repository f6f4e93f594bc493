import { sql } from 'kysely'
import type { Db } from '#platform/database.ts'
import { readTouched, type Touched, type Touching } from '#platform/touched.ts'
import { toRunId } from './thread-log.ts'

/** Replies that a key has asked agents for. */
export async function listTouchedChats(db: Db, { keyId, since }: Touching): Promise<Touched> {
  const { count, items } = await readTouched(
    db,
    sql`select run_id as id, agent_slug as title, created_at as at,
      case when status in ('queued', 'working', 'waiting') then 'cancel' end as undo
    from thread_runs
    where credential_kind = 'key' and credential_id = ${keyId} and created_at >= ${since}`,
  )
  return { count, items: items.map((item) => ({ ...item, id: toRunId(item.id) })) }
}
