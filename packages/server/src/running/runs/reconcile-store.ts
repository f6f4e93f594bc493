import { sql } from 'kysely'
import { secondsAgo } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import { type RunRow, voidedColumns } from './store.ts'

/** One that somebody holds is left for the next time. */
export async function claimOldLaunches(db: Tx, olderThanSeconds: number) {
  const old = db
    .selectFrom('workflow_runs')
    .select('id')
    .where('status', '=', 'launching')
    .where('launched_at', '<=', secondsAgo(olderThanSeconds))
    .forNoKeyUpdate()
    .skipLocked()
  return db
    .updateTable('workflow_runs')
    .set({ status: 'void', advancing: false, queued_at: null })
    .where('id', 'in', old)
    .returning(voidedColumns)
    .execute()
}

export async function listWaitingWorkspaces(db: Db, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('workflow_runs')
    .select('workspace_id')
    .distinct()
    .where('queued_at', 'is not', null)
    .limit(limit)
    .execute()
  return rows.map(({ workspace_id }) => workspace_id)
}

/** Taken off the queue, and not known to have reached the engine. */
export async function listUnsent(db: Db, olderThanSeconds: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('workflow_runs')
    .select('run_id')
    .where('status', '=', 'running')
    .where('queued_at', 'is', null)
    .where('invocation_id', 'is', null)
    .where('updated_at', '<=', secondsAgo(olderThanSeconds))
    .limit(limit)
    .execute()
  return rows.map(({ run_id }) => run_id)
}

export async function listUntaken(db: Db, olderThanSeconds: number, limit: number) {
  return db
    .selectFrom('workflow_runs')
    .select(['run_id', 'resume_id', 'resume_key'])
    .where('resume_id', 'is not', null)
    .where('resume_taken_at', 'is', null)
    .where('status', '=', 'running')
    .where('queued_at', 'is', null)
    .where('resumed_at', '<=', secondsAgo(olderThanSeconds))
    .limit(limit)
    .execute()
}

/** Suspended and people were not asked, or ended and they still are. */
export async function listUnsettled(db: Db, olderThanSeconds: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('workflow_runs')
    .select('run_id')
    .where(
      sql<boolean>`status = 'suspended' and asked <> pauses or status in ('success', 'failed', 'canceled') and asked > 0`,
    )
    .where('updated_at', '<=', secondsAgo(olderThanSeconds))
    .limit(limit)
    .execute()
  return rows.map(({ run_id }) => run_id)
}

/** Of each workspace and key the run that has waited longest for room in the inbox. */
export async function listHeldBack(db: Db, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('workflow_runs')
    .distinctOn(['workspace_id', 'api_key_id'])
    .select('run_id')
    .where('held_back', '=', true)
    .where('status', '=', 'suspended')
    .orderBy('workspace_id')
    .orderBy('api_key_id')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ run_id }) => run_id)
}

/** Places of runs that do not advance. Every change of a run sees to its place, so there should be none. */
export async function claimStrayPlaces(db: Db) {
  const { rows } = await sql<Pick<RunRow, 'run_id' | 'workspace_id'>>`
    update workflow_runs set advancing = false
    where id in (
      select id from workflow_runs
      where advancing and (status not in ('launching', 'running') or queued_at is not null)
      for no key update skip locked)
    returning run_id, workspace_id`.execute(db)
  return rows
}

/** Canceled, and the engine still works on it as far as is known. */
export async function listLeaving(db: Db, within: { fromSeconds: number; toSeconds: number }, limit: number) {
  return db
    .selectFrom('workflow_runs')
    .select(['run_id', 'invocation_id'])
    .where('status', '=', 'canceled')
    .where('left_at', 'is', null)
    .where('invocation_id', 'is not', null)
    .where('ended_at', '<=', secondsAgo(within.fromSeconds))
    .where('ended_at', '>', secondsAgo(within.toSeconds))
    .limit(limit)
    .execute()
}
