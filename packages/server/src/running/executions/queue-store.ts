import { sql } from 'kysely'
import { thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import { type ExecutionRow, isAllowedOnce, type Start, scopesFor } from './store.ts'

/** How many wait to be started, up to one more than the limit. One at a time counts, until its transaction ends. */
export async function countIdleLocked(tx: Tx, workspaceId: string, limit: number): Promise<number> {
  await lockIdle(tx, workspaceId)
  const idle = sql`select from executions where workspace_id = ${workspaceId} and status = 'idle'`
  return (await sql`${idle} limit ${limit + 1}`.execute(tx)).rows.length
}

/** What is idle in a workspace is counted and put in line by one at a time. */
export async function lockIdle(tx: Tx, workspaceId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`idle:${workspaceId}`}, 0))`.execute(tx)
}

/** Of the key or the app that this one belongs to; under the lock of the count of the workspace's. */
export async function countIdleOf(tx: Tx, row: ExecutionRow): Promise<number> {
  const isPersonal = row.api_key_id === null && row.oauth_grant_id === null
  if (isPersonal || row.workflow_run_id !== null || row.chat_run_id !== null) return 0
  const { count } = await tx
    .selectFrom('executions')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('workspace_id', '=', row.workspace_id)
    .where('status', '=', 'idle')
    .where('api_key_id', 'is not distinct from', row.api_key_id)
    .where('oauth_grant_id', 'is not distinct from', row.oauth_grant_id)
    .where('workflow_run_id', 'is', null)
    .where('chat_run_id', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}

export async function updateQueued(tx: Tx, id: number, start: Start): Promise<ExecutionRow> {
  return tx
    .updateTable('executions')
    .set({
      queued_at: thisMoment,
      api_key_id: start.api_key_id,
      oauth_grant_id: start.oauth_grant_id,
      allowed_once: isAllowedOnce(start),
      authority: start.authority && JSON.stringify(start.authority),
      input_text: start.input_text,
      max_cost_milli_ds: start.max_cost_milli_ds,
      agent_slug: start.agent_slug,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** First come, first served; held so that two processes do not both start it. */
export async function lockQueueHead(tx: Tx, workspaceId: string) {
  return tx
    .selectFrom('executions')
    .selectAll()
    .select(
      sql<boolean>`may_act(workspace_id, user_id, api_key_id, oauth_grant_id,
        case when allowed_once then null else ${scopesFor(sql.ref('skill_slug'))} end, created_at)`.as(
        'may_act',
      ),
    )
    .where('workspace_id', '=', workspaceId)
    .where('status', '=', 'idle')
    .where('queued_at', 'is not', null)
    .orderBy('queued_at')
    .orderBy('id')
    .limit(1)
    .forUpdate()
    .executeTakeFirst()
}

export async function findQueued(db: Db, workspaceId: string) {
  return db
    .selectFrom('executions')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('status', '=', 'idle')
    .where('queued_at', 'is not', null)
    .limit(1)
    .executeTakeFirst()
}

/** The place of one that waits, from 1; in the order in which they are started. */
export async function countQueuedUpTo(db: Db, row: Pick<ExecutionRow, 'id' | 'workspace_id' | 'queued_at'>) {
  const { count } = await db
    .selectFrom('executions')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('workspace_id', '=', row.workspace_id)
    .where('status', '=', 'idle')
    .where(sql<boolean>`(queued_at, id) <= (${row.queued_at}::timestamptz, ${row.id}::bigint)`)
    .executeTakeFirstOrThrow()
  return Number(count)
}
