import { sql } from 'kysely'
import { thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { AgentContent } from '#platform/tables.ts'

export interface NewAgent extends AgentContent {
  slug: string
  is_primary: boolean
}

export type AgentRow = NonNullable<Awaited<ReturnType<typeof findAgent>>>

export async function findAgent(db: Db, workspaceId: string, slug: string) {
  return db
    .selectFrom('agents')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('slug', '=', slug)
    .executeTakeFirst()
}

export async function findPrimary(db: Db, workspaceId: string) {
  return db
    .selectFrom('agents')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('is_primary', '=', true)
    .executeTakeFirst()
}

/** The primary one first. */
export async function listAgents(db: Db, workspaceId: string): Promise<AgentRow[]> {
  return db
    .selectFrom('agents')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .orderBy('is_primary', 'desc')
    .orderBy('slug')
    .execute()
}

export async function listSlugs(db: Db, workspaceId: string): Promise<string[]> {
  const rows = await db.selectFrom('agents').select('slug').where('workspace_id', '=', workspaceId).execute()
  return rows.map(({ slug }) => slug)
}

export async function sumAgentBytes(db: Db, workspaceId: string): Promise<number> {
  const { bytes } = await db
    .selectFrom('agents')
    .select(sql<number>`coalesce(sum(octet_length(instructions) + octet_length(description)), 0)`.as('bytes'))
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  return Number(bytes)
}

export async function countAgents(db: Db, workspaceId: string): Promise<number> {
  const { count } = await db
    .selectFrom('agents')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  return count
}

/**
 * Undefined when the slug is taken, or when there is a primary one already and this wants to be it too. Where one of
 * that name was before, its numbers go on: a run that began with one of them finds what it began with.
 */
export async function insertAgent(db: Db, workspaceId: string, agent: NewAgent) {
  const { slug } = agent
  const version_number = sql<number>`1 + coalesce((select max(version_number) from agent_versions
    where workspace_id = ${workspaceId} and slug = ${slug}), 0)`
  return db
    .insertInto('agents')
    .values({ ...agent, workspace_id: workspaceId, version_number })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
}

/** Undefined when it is gone. */
export async function updateAgent(tx: Tx, workspaceId: string, slug: string, change: Partial<NewAgent>) {
  return tx
    .updateTable('agents')
    .set({ ...change, version_number: sql`version_number + 1`, updated_at: thisMoment })
    .where('workspace_id', '=', workspaceId)
    .where('slug', '=', slug)
    .returningAll()
    .executeTakeFirst()
}

/** Takes it from the one that has it, before another one gets it. */
export async function updateNoPrimary(tx: Tx, workspaceId: string) {
  return tx
    .updateTable('agents')
    .set({ is_primary: false, version_number: sql`version_number + 1`, updated_at: thisMoment })
    .where('workspace_id', '=', workspaceId)
    .where('is_primary', '=', true)
    .returning('slug')
    .executeTakeFirst()
}

/** Undefined when there is none of that name, or it is the primary one. */
export async function deleteAgent(tx: Tx, workspaceId: string, slug: string) {
  return tx
    .deleteFrom('agents')
    .where('workspace_id', '=', workspaceId)
    .where('slug', '=', slug)
    .where('is_primary', '=', false)
    .returning('slug')
    .executeTakeFirst()
}
