import { sql } from 'kysely'
import { now } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/database.ts'

export interface NewAgent {
  slug: string
  name: string
  description: string
  instructions: string
  model: string | null
  is_primary: boolean
  tools: string[]
  skills: string[]
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

export async function countAgents(db: Db, workspaceId: string): Promise<number> {
  const { count } = await db
    .selectFrom('agents')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  return count
}

/** Undefined when the slug is taken, or when there is a primary one already and this wants to be it too. */
export async function insertAgent(db: Db, workspaceId: string, agent: NewAgent) {
  return db
    .insertInto('agents')
    .values({ ...agent, workspace_id: workspaceId })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
}

/** Undefined when it is gone. */
export async function updateAgent(tx: Tx, workspaceId: string, slug: string, change: Partial<NewAgent>) {
  return tx
    .updateTable('agents')
    .set({ ...change, version_number: sql`version_number + 1`, updated_at: now })
    .where('workspace_id', '=', workspaceId)
    .where('slug', '=', slug)
    .returningAll()
    .executeTakeFirst()
}

/** Takes it from the one that has it, before another one gets it. */
export async function updateNoPrimary(tx: Tx, workspaceId: string): Promise<void> {
  await tx
    .updateTable('agents')
    .set({ is_primary: false, version_number: sql`version_number + 1`, updated_at: now })
    .where('workspace_id', '=', workspaceId)
    .where('is_primary', '=', true)
    .execute()
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
