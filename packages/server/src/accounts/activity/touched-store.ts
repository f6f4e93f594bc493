import { type ActivityType, touchedCounted, touchedShown } from '@guildhall/contract'
import { sql } from 'kysely'
import type { Db } from '#platform/database.ts'
import type { Touching } from '#platform/touched.ts'

interface TouchedThing {
  readonly id: string
  readonly title: string
  readonly at: string
  /** What a key did with it first in this time. */
  readonly first: ActivityType
  readonly count: number
}

/** The things that lines of these types name, each once, what was touched last first. Deleted artifacts have a name. */
export async function listTouchedThings(
  db: Db,
  { keyId, workspaceId, since }: Touching,
  types: readonly ActivityType[],
): Promise<TouchedThing[]> {
  // As literals, so that the index of what keys did serves it.
  const among = sql.join(types.map((type) => sql.lit(type)))
  const { rows } = await sql<TouchedThing>`
    select thing as id, (array_agg(title order by at desc, id desc))[1] as title, max(at) as at,
      (array_agg(type order by at, id))[1] as first, count(*) over () as count
    from (select id, type, at, coalesce(details->>'artifactId', details->>'slug') as thing,
        coalesce(details->>'name', details->>'slug') as title
      from activity
      where api_key_id = ${keyId} and type in (${among}) and at >= ${since} and workspace_id = ${workspaceId}
      order by at desc limit ${sql.lit(touchedCounted)}) newest
    group by thing order by max(at) desc, thing limit ${sql.lit(touchedShown)}`.execute(db)
  return rows
}
