import { thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'

export interface NewWorkflow {
  slug: string
  definition_id: string
  name: string
  description: string
  category: string
  requires_connector: string | null
  /** The author's text as it was given. */
  definition: string
  bundle_checksum: string
  installed_by: string
}

export type WorkflowRow = NonNullable<Awaited<ReturnType<typeof findWorkflow>>>

export async function findWorkflow(db: Db, workspaceId: string, slug: string) {
  return db
    .selectFrom('workflows')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('slug', '=', slug)
    .executeTakeFirst()
}

export async function listWorkflowsAfter(db: Db, workspaceId: string, after: string, limit: number) {
  return db
    .selectFrom('workflows')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('slug', '>', after)
    .orderBy('slug')
    .limit(limit)
    .execute()
}

export async function listSlugsOfDefinition(
  db: Db,
  workspaceId: string,
  definitionId: string,
): Promise<string[]> {
  const rows = await db
    .selectFrom('workflows')
    .select('slug')
    .where('workspace_id', '=', workspaceId)
    .where('definition_id', '=', definitionId)
    .orderBy('slug')
    .execute()
  return rows.map(({ slug }) => slug)
}

export async function countWorkflows(db: Db, workspaceId: string): Promise<number> {
  const { count } = await db
    .selectFrom('workflows')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  return count
}

/** In one statement: who reads meanwhile sees the one before or this one, whole. */
export async function insertOrUpdateWorkflow(
  tx: Tx,
  workspaceId: string,
  { slug, ...content }: NewWorkflow,
): Promise<WorkflowRow> {
  return tx
    .insertInto('workflows')
    .values({ workspace_id: workspaceId, slug, ...content })
    .onConflict((conflict) =>
      conflict.columns(['workspace_id', 'slug']).doUpdateSet({ ...content, installed_at: thisMoment }),
    )
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Undefined when it is not installed. */
export async function deleteWorkflow(tx: Tx, workspaceId: string, slug: string) {
  return tx
    .deleteFrom('workflows')
    .where('workspace_id', '=', workspaceId)
    .where('slug', '=', slug)
    .returning('slug')
    .executeTakeFirst()
}

/** Which of these are installed. */
export async function listWorkflowsAmong(
  db: Db,
  workspaceId: string,
  slugs: readonly string[],
): Promise<string[]> {
  if (slugs.length === 0) return []
  const rows = await db
    .selectFrom('workflows')
    .select('slug')
    .where('workspace_id', '=', workspaceId)
    .where('slug', 'in', slugs)
    .execute()
  return rows.map(({ slug }) => slug)
}
