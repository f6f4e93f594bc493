import { toDs } from '@guildhall/contract'
import { announceApprovals } from '#access/approvals/approvals.ts'
import type { Author } from '#accounts/activity/activity.ts'
import { ApiError } from '#operations/errors.ts'
import type { Bus } from '#platform/bus.ts'
import type { Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { traceChannel } from '#running/traces/traces.ts'
import { publishEvents } from './event-log.ts'
import { type Changed, type Ending, endExecution, hasEnded, neverBegan, startQueued } from './lifecycle.ts'
import * as listStore from './list-store.ts'
import { type Due, lockDue } from './reconcile-store.ts'
import { type StepExecutionInput, startForStep } from './step-execution.ts'
import * as store from './store.ts'

export { listEvents } from './event-log.ts'
export { countErased } from './event-store.ts'
export { listTouchedExecutions, listWorkingOfKey } from './list-store.ts'
export { readStepExecution } from './step-execution.ts'
export { findEnded, findMark, listRanOn } from './store.ts'
export { executionTurns } from './turn-source.ts'

/** What changes of executions work with, in an API process and in a worker alike. */
export type ExecutionParts = Pick<Deps, 'config' | 'database' | 'redis' | 'engine' | 'logger' | 'metrics'> & {
  bus: Bus
}

/** What whoever wants a change has done in the same transaction. */
interface Within {
  /** What it costs them, before it is made. */
  readonly spend?: ((tx: Tx) => Promise<unknown>) | undefined
  /** Once it is made. */
  readonly keep?: ((tx: Tx, changed: Changed) => Promise<void>) | undefined
}

/** The worker that has the execution listens here, and so does who waits for its end. */
export function endChannel(executionRowId: number): string {
  return `execution-end:${executionRowId}`
}

export function goneChannel(executionRowId: number): string {
  return `execution-gone:${executionRowId}`
}

/** After a change is committed: readers, sockets and whoever waits are told. Nothing here is needed for the truth. */
function announce(parts: ExecutionParts, { row, events, budgetRequest }: Changed): void {
  publishEvents(parts.redis, row.id, events)
  const { workspace_id: workspaceId, execution_id: executionId, skill_slug: skillSlug, status } = row
  const facts = { workspaceId, executionId, skillSlug, status }
  if (status === 'working') {
    parts.bus.publish({ type: 'execution-started', ...facts })
    // Who waits for turns hears from now on what this produces.
    parts.bus.wake(traceChannel(row.trace_id))
  }
  if (!hasEnded(row)) return
  parts.metrics.executionsEnded.inc({ reason: row.stop_reason ?? 'error' })
  parts.bus.wake(endChannel(row.id))
  void tellWaiting(parts, row)
  if (budgetRequest !== undefined) {
    void announceApprovals(parts, { kind: 'budget', workspaceId, ids: [budgetRequest], userId: row.user_id })
  }
  parts.bus.publish({
    type: status === 'completed' ? 'execution-completed' : 'execution-failed',
    ...facts,
    stopReason: row.stop_reason,
    cost: toDs(row.cost_milli_ds),
  })
}

/** The step of a workflow that waits for it goes on. What fails here is done by the next look around. */
export async function tellWaiting(
  parts: ExecutionParts,
  { id, awakeable_id }: Pick<store.ExecutionRow, 'id' | 'awakeable_id'>,
): Promise<void> {
  if (awakeable_id === null) return
  try {
    await parts.engine.resolveAwakeable(awakeable_id)
    await store.updateAwaitedTold(parts.database.db, id)
  } catch (error) {
    parts.logger.debug({ err: error, execution: id }, 'the waiting step was not told yet')
  }
}

/** Hands a started execution to the engine, which calls a worker. Asking twice with one offer is asking once. */
export async function dispatch(
  parts: ExecutionParts,
  { id, attempt, offer = 0 }: Pick<store.ExecutionRow, 'id' | 'attempt'> & { offer?: number },
) {
  await parts.engine.runExecution({ executionRowId: id, attempt, offer })
}

/**
 * The same, for a start that somebody waits for. The answer says what the row says: refused, if it ended here or
 * elsewhere with no worker ever having it; started otherwise, because word to the engine may have arrived although no
 * answer did. Where the row can be neither changed nor read the start stands, and a reconciler brings it to its end.
 */
async function dispatchOrFail(parts: ExecutionParts, { row }: Changed): Promise<void> {
  try {
    await dispatch(parts, row)
  } catch (error) {
    if (await isRefused(parts, row)) throw new ApiError('EXECUTION_FAILED', { cause: error })
  }
}

const refused: Ending = { status: 'failed', stopReason: 'error', code: neverBegan }
const refusedWithinMs = 2000

async function isRefused(parts: ExecutionParts, { id, attempt }: store.ExecutionRow): Promise<boolean> {
  try {
    const only = { attempt, untaken: true, lockWithinMs: refusedWithinMs }
    const { row, changed } = await end(parts, id, refused, only)
    return changed !== undefined || row?.error_code === neverBegan
  } catch (error) {
    parts.logger.warn({ err: error, execution: id }, 'a start that the engine did not confirm stands for now')
    const row = await store.findExecutionById(parts.database.db, id).catch(() => undefined)
    return row?.error_code === neverBegan
  }
}

/**
 * Ends an execution, unless it has ended, another attempt has it, or the reason no longer holds. Gives the row as it was
 * before, and the change if this made one.
 */
export async function end(
  parts: ExecutionParts,
  id: number,
  ending: Ending,
  only: {
    attempt?: number
    untaken?: boolean
    due?: Due
    lockWithinMs?: number
  } & Within = {},
): Promise<{ row: store.ExecutionRow | undefined; changed: Changed | undefined }> {
  const change = async (tx: Tx) => {
    const row = await (only.due ? lockDue(tx, id, only.due) : store.lockExecution(tx, id))
    const isOthers =
      (only.attempt !== undefined && only.attempt !== row?.attempt) ||
      (only.untaken && row?.worker_id !== null)
    if (!row || hasEnded(row) || isOthers) return { row, changed: undefined }
    await only.spend?.(tx)
    const changed = await endExecution(tx, row, ending)
    await only.keep?.(tx, changed)
    return { row, changed }
  }
  const outcome = await parts.database.transaction(change, only)
  if (outcome.changed) await follow(parts, outcome.changed)
  return outcome
}

/** What has to follow a change that is committed: a start is handed to the engine, an end lets the next one start. */
export async function follow(parts: ExecutionParts, changed: Changed | undefined): Promise<void> {
  if (!changed) return
  announce(parts, changed)
  if (changed.row.status === 'working') await dispatchOrFail(parts, changed)
  // Whoever ended this one does not wait for the next, nor for the engine.
  else if (hasEnded(changed.row)) void startNext(parts, changed.row.workspace_id)
}

/** Starts whoever waits longest for the workspace's slot. What fails here is done by the next look around. */
export async function startNext(parts: ExecutionParts, workspaceId: string): Promise<void> {
  try {
    for (;;) {
      const changed = await parts.database.transaction((tx) => startQueued(tx, parts.config, workspaceId))
      if (!changed) return
      announce(parts, changed)
      if (changed.row.status !== 'working') continue
      await dispatch(parts, changed.row)
      return
    }
  } catch (error) {
    if (error instanceof ApiError && error.code === 'EXECUTION_RUNNING') return
    parts.logger.warn({ err: error, workspaceId }, 'the next execution was not started yet')
  }
}

export const interrupted: Ending = {
  status: 'failed',
  stopReason: 'interrupt',
  events: [{ type: 'user.interrupt', payload: {} }],
}

const seenGoneWithinMs = 4000

/** Cancel, as far as the record goes; then waits until the worker has seen the last process gone, or for a while. */
export async function cancel(parts: ExecutionParts, id: number, by: Author, within: Within = {}) {
  const { spend, keep } = within
  const { row, changed } = await end(parts, id, { ...interrupted, by }, { spend, keep })
  if (!changed) return { row, changed, processKilled: false }
  return { row, changed, processKilled: row?.worker_id ? await waitUntilGone(parts, id) : false }
}

async function waitUntilGone(parts: ExecutionParts, id: number): Promise<boolean> {
  const deadline = AbortSignal.timeout(seenGoneWithinMs)
  while (!deadline.aborted) {
    const word = parts.bus.wait(goneChannel(id), deadline, 250)
    const row = await store.findExecutionById(parts.database.db, id)
    if (row?.process_gone_at) return true
    await word
  }
  return false
}

/** There may be a thousand, and others want the database's connections too. */
const stoppedAtOnce = 5

/** For a key that is revoked together with what it runs. */
export async function stopExecutionsOfKey(parts: ExecutionParts, keyId: number, by: Author): Promise<number> {
  for (let stopped = 0; ; ) {
    const ids = await listStore.listOpenOfKey(parts.database.db, keyId, stoppedAtOnce)
    if (ids.length === 0) return stopped
    const outcomes = await Promise.all(ids.map((id) => cancel(parts, id, by)))
    stopped += outcomes.filter(({ changed }) => changed).length
  }
}

/**
 * Starts a skill for a step of a workflow, or has it wait for the workspace's slot; a step that is repeated finds what it
 * began. Undefined when it is no longer wanted.
 */
export async function beginStepExecution(
  parts: ExecutionParts,
  given: StepExecutionInput,
): Promise<number | undefined> {
  const started = await startForStep(parts, given)
  if (started?.changed) announce(parts, started.changed)
  // What does not reach the engine now is offered again by the next look around.
  if (started?.changed?.row.status === 'working') await dispatch(parts, started.row).catch(() => {})
  return started?.row.id
}

/** For a run of a workflow that is canceled together with what it started. */
export async function interruptExecutionsOfRun(parts: ExecutionParts, runId: string): Promise<void> {
  const ids = await listStore.listOpenOfRun(parts.database.db, runId)
  await Promise.all(ids.map((id) => end(parts, id, interrupted)))
}

export async function interruptExecution(parts: ExecutionParts, id: number): Promise<void> {
  await end(parts, id, interrupted)
}
