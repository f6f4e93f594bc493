import { sql } from 'kysely'
import { now, secondsFromNow } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'

/** What the agent is now becomes the content of its version, unless that is kept already. */
export async function insertVersion(
  db: Db,
  workspaceId: string,
  slug: string,
  { by, note }: { by: string | null; note: string | null },
): Promise<void> {
  await db
    .insertInto('agent_versions')
    .columns(['workspace_id', 'slug', 'version_number', 'content', 'created_by', 'note'])
    .expression((from) =>
      from
        .selectFrom('agents')
        .select(['workspace_id', 'slug', 'version_number'])
        .select([
          sql<string>`json_build_object('name', name, 'description', description, 'instructions', instructions,
            'model', model, 'tools', tools, 'skills', skills,
            'max_cost_per_run_milli_ds', max_cost_per_run_milli_ds, 'outside', outside)`.as('content'),
          sql<string | null>`${by}::uuid`.as('created_by'),
          sql<string | null>`${note}::text`.as('note'),
        ])
        .where('workspace_id', '=', workspaceId)
        .where('slug', '=', slug),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export type VersionRow = Awaited<ReturnType<typeof listVersions>>[number]

/** Newest first, without those of an agent of that name that is gone. */
export async function listVersions(db: Db, workspaceId: string, slug: string) {
  return db
    .selectFrom('agent_versions')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('slug', '=', slug)
    .where('ends_at', 'is', null)
    .orderBy('version_number', 'desc')
    .execute()
}

/** Also of an agent that is gone. */
export async function findVersion(db: Db, workspaceId: string, slug: string, versionNumber: number) {
  return db
    .selectFrom('agent_versions')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('slug', '=', slug)
    .where('version_number', '=', versionNumber)
    .executeTakeFirst()
}

export async function deleteVersionsThrough(
  tx: Tx,
  workspaceId: string,
  slug: string,
  versionNumber: number,
): Promise<void> {
  await tx
    .deleteFrom('agent_versions')
    .where('workspace_id', '=', workspaceId)
    .where('slug', '=', slug)
    .where('version_number', '<=', versionNumber)
    .execute()
}

/** The agent is gone: what it was stays for so long. */
export async function updateVersionsEnd(
  tx: Tx,
  workspaceId: string,
  slug: string,
  seconds: number,
): Promise<void> {
  await tx
    .updateTable('agent_versions')
    .set({ ends_at: secondsFromNow(seconds) })
    .where('workspace_id', '=', workspaceId)
    .where('slug', '=', slug)
    .where('ends_at', 'is', null)
    .execute()
}

export async function deleteEndedVersions(db: Db): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('agent_versions')
    .where('ends_at', '<', now)
    .executeTakeFirst()
  return Number(numDeletedRows)
}
