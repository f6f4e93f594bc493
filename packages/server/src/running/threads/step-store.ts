import { sql } from 'kysely'
import { thisMoment } from '#platform/clock.ts'
import type { Database, HotStatement, Tx } from '#platform/database.ts'
import type { RunRow } from './store.ts'

export interface Step {
  readonly inputTokens: number
  readonly outputTokens: number
  /** Of the run so far. */
  readonly costMilliDs: number
  readonly deliveredThrough: number
}

/** One reply more. Call it with the thread locked, for the run as it was read under that lock. */
export async function updateStep(tx: Tx, run: RunRow, step: Step): Promise<RunRow> {
  await sql`update threads set cost_milli_ds = cost_milli_ds + ${step.costMilliDs - run.cost_milli_ds}::bigint
    where id = ${run.thread_row_id}`.execute(tx)
  return tx
    .updateTable('thread_runs')
    .set((e) => ({
      steps: e('steps', '+', 1),
      input_tokens: e('input_tokens', '+', step.inputTokens),
      output_tokens: e('output_tokens', '+', step.outputTokens),
      cost_milli_ds: step.costMilliDs,
      pending_milli_ds: 0,
      pending_input_tokens: 0,
      pending_output_tokens: 0,
      delivered_through: step.deliveredThrough,
      touched_at: thisMoment,
    }))
    .where('id', '=', run.id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** What a reply under way has taken. */
export interface Taken {
  readonly costMilliDs: number
  readonly inputTokens: number
  readonly outputTokens: number
}

const pendingStatement: HotStatement = {
  name: 'note-pending-of-chat',
  text: `update thread_runs set pending_milli_ds = $3, pending_input_tokens = $4, pending_output_tokens = $5
    where id = $1 and attempt = $2 and status = 'working' returning id`,
}

/**
 * Without the thread's lock, since it is noted many times in a reply. False when the attempt has the run no more, which
 * whoever takes it away decides under the row's lock.
 */
export async function updatePending(
  database: Database,
  { id, attempt }: Pick<RunRow, 'id' | 'attempt'>,
  { costMilliDs, inputTokens, outputTokens }: Taken,
): Promise<boolean> {
  const rows = await database.hot(pendingStatement, [id, attempt, costMilliDs, inputTokens, outputTokens])
  return rows.length > 0
}

/** What the reply under way has taken becomes part of what the run cost. With the thread locked, as `updateStep`. */
export async function updatePendingKept(tx: Tx, run: RunRow): Promise<RunRow> {
  const kept = await tx
    .updateTable('thread_runs')
    .set((e) => ({
      cost_milli_ds: e('cost_milli_ds', '+', e.ref('pending_milli_ds')),
      input_tokens: e('input_tokens', '+', e.ref('pending_input_tokens')),
      output_tokens: e('output_tokens', '+', e.ref('pending_output_tokens')),
      pending_milli_ds: 0,
      pending_input_tokens: 0,
      pending_output_tokens: 0,
    }))
    .where('id', '=', run.id)
    .returningAll()
    .executeTakeFirstOrThrow()
  await sql`update threads set cost_milli_ds = cost_milli_ds + ${kept.cost_milli_ds - run.cost_milli_ds}::bigint
    where id = ${run.thread_row_id}`.execute(tx)
  return kept
}

/** What a summary took, and where it is in the log if it is there. With the thread locked, as `updateStep`. */
export async function updateSummary(
  tx: Tx,
  run: RunRow,
  used: { inputTokens: number; outputTokens: number; costMilliDs: number; sequence: number | null },
): Promise<RunRow> {
  await sql`update threads set cost_milli_ds = cost_milli_ds + ${used.costMilliDs}::bigint,
      summary_sequence = coalesce(${used.sequence}::integer, summary_sequence)
    where id = ${run.thread_row_id}`.execute(tx)
  return tx
    .updateTable('thread_runs')
    .set((e) => ({
      input_tokens: e('input_tokens', '+', used.inputTokens),
      output_tokens: e('output_tokens', '+', used.outputTokens),
      cost_milli_ds: e('cost_milli_ds', '+', used.costMilliDs),
      pending_milli_ds: 0,
      pending_input_tokens: 0,
      pending_output_tokens: 0,
      touched_at: thisMoment,
    }))
    .where('id', '=', run.id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** What a call had others do, which is the run's to answer for. */
export interface Caused {
  readonly delegatedMilliDs?: number
  readonly launchedRunId?: string
}

/** A result, and what came of it elsewhere. */
export async function updateResult(tx: Tx, id: number, caused: Caused): Promise<RunRow> {
  const { delegatedMilliDs = 0, launchedRunId } = caused
  return tx
    .updateTable('thread_runs')
    .set((e) => ({
      touched_at: thisMoment,
      delegated_milli_ds: e('delegated_milli_ds', '+', delegatedMilliDs),
      ...(launchedRunId !== undefined && {
        workflow_runs: sql<string[]>`array_append(workflow_runs, ${launchedRunId}::text)`,
      }),
    }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** What has read from outside stays so, and so does its thread. */
export async function updateTainted(tx: Tx, run: RunRow): Promise<RunRow> {
  await tx.updateTable('threads').set({ tainted: true }).where('id', '=', run.thread_row_id).execute()
  return tx
    .updateTable('thread_runs')
    .set({ tainted: true })
    .where('id', '=', run.id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Undefined when this call was begun before. They are made one at a time, so the last one is all there is to know. */
export async function claimToolUse(tx: Tx, id: number, toolUseId: string): Promise<RunRow | undefined> {
  return tx
    .updateTable('thread_runs')
    .set({ begun_tool_use: toolUseId })
    .where('id', '=', id)
    .where('begun_tool_use', 'is distinct from', toolUseId)
    .returningAll()
    .executeTakeFirst()
}
