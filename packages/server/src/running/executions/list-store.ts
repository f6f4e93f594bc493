import { type KeyDetail, toDs } from '@guildhall/contract'
import { sql } from 'kysely'
import type { Db } from '#platform/database.ts'
import { readTouched, type Touched, type Touching } from '#platform/touched.ts'

/** Where work is found that somebody has to see to: what nobody took, what waits, what is open. */

const mostShown = 100

/** Workspaces whose queue waits although nothing works there. */
export async function listStuckQueues(db: Db, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('executions')
    .innerJoin('workspace_slots', 'workspace_slots.workspace_id', 'executions.workspace_id')
    .select('executions.workspace_id')
    .distinct()
    .where('status', '=', 'idle')
    .where('queued_at', 'is not', null)
    .where('workspace_slots.execution_id', 'is', null)
    .limit(limit)
    .execute()
  return rows.map(({ workspace_id }) => workspace_id)
}

export async function listOpenOfRun(db: Db, workflowRunId: string): Promise<number[]> {
  const rows = await db
    .selectFrom('executions')
    .select('id')
    .where('workflow_run_id', '=', workflowRunId)
    .where('status', 'in', ['idle', 'working'])
    .execute()
  return rows.map(({ id }) => id)
}

/** Ended, and the step of a workflow that waits for it was not told yet. */
export async function listAwaited(db: Db, limit: number) {
  return db
    .selectFrom('executions')
    .select(['id', 'awakeable_id'])
    .where('awakeable_id', 'is not', null)
    .where('status', 'in', ['completed', 'failed'])
    .limit(limit)
    .execute()
}

export async function listOpenOfKey(db: Db, apiKeyId: number, limit: number): Promise<number[]> {
  const rows = await db
    .selectFrom('executions')
    .select('id')
    .where('api_key_id', '=', apiKeyId)
    .where('status', 'in', ['idle', 'working'])
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** Those of the given ones that no longer work. */
export async function listEndedOf(db: Db, ids: readonly number[]): Promise<number[]> {
  const rows = await db
    .selectFrom('executions')
    .select('id')
    .where('id', 'in', ids)
    .where('status', '!=', 'working')
    .execute()
  return rows.map(({ id }) => id)
}

/** A key's executions that work now, the oldest first, as its person is told of them. */
export async function listWorkingOfKey(db: Db, apiKeyId: number): Promise<KeyDetail['running']> {
  const rows = await db
    .selectFrom('executions')
    .select(['execution_id', 'skill_name', 'cost_milli_ds', 'started_at', 'last_sequence'])
    .where('api_key_id', '=', apiKeyId)
    .where('status', '=', 'working')
    .orderBy('id')
    .limit(mostShown)
    .execute()
  return rows.map((row) => ({
    executionId: row.execution_id,
    skillName: row.skill_name,
    cost: toDs(row.cost_milli_ds),
    startedAt: row.started_at,
    lastSequence: row.last_sequence,
  }))
}

/** What a key has started, also what waits for its turn. */
export function listTouchedExecutions(db: Db, { keyId, since }: Touching): Promise<Touched> {
  return readTouched(
    db,
    sql`select execution_id as id, skill_name as title, created_at as at,
      case when status in ('idle', 'working') then 'cancel' end as undo
    from executions where api_key_id = ${keyId} and created_at >= ${since}`,
  )
}
