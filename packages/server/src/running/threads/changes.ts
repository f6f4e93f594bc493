import { announceApprovals } from '#access/approvals/approvals.ts'
import { findAgent } from '#library/agents/agents.ts'
import type { Bus } from '#platform/bus.ts'
import type { Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { traceChannel } from '#running/traces/traces.ts'
import {
  accessEnded,
  agentGone,
  breakOffRun,
  type Change,
  changeOf,
  type Ending,
  endRun,
  interrupted,
  startRun,
  wakeRun,
} from './lifecycle.ts'
import { listOpenOfKey, updateAwaitedTold } from './list-store.ts'
import * as store from './store.ts'
import { publishEvents, toRunId } from './thread-log.ts'
import { listWaitingFor, listWithPlace } from './wait-store.ts'

/** What changes of threads work with, in an API process and in a worker alike. */
export type ThreadParts = Pick<Deps, 'config' | 'database' | 'redis' | 'engine' | 'logger' | 'metrics'> & {
  readonly bus: Bus
}

/** The worker that has a thread's run listens here. */
export function stopChannel(threadRowId: number): string {
  return `chat-stop:${threadRowId}`
}

/** Whoever waits for what a run comes to listens here. */
export function runChannel(runId: string): string {
  return `chat-run:${runId}`
}

/** Changes a thread under its lock; what follows a commit follows. Undefined when the thread is gone. */
export async function changeThread<T>(
  parts: ThreadParts,
  threadRowId: number,
  work: (tx: Tx, change: Change) => Promise<T>,
  options: { lockWithinMs?: number } = {},
): Promise<T | undefined> {
  const outcome = await parts.database.transaction(async (tx) => {
    const thread = await store.lockThread(tx, threadRowId)
    if (!thread) return undefined
    const change = changeOf(thread)
    return { change, result: await work(tx, change) }
  }, options)
  if (outcome) follow(parts, outcome.change)
  return outcome?.result
}

/** After a change is committed: readers, workers and whoever waits are told. Nothing here is needed for the truth. */
export function follow(parts: ThreadParts, change: Change): void {
  const { thread, events, started, stopped, withdrawn } = change
  publishEvents(parts.redis, thread.id, events)
  const last = events.at(-1)
  if (last && thread.visibility === 'workspace' && thread.kind === 'chat') {
    const { workspace_id: workspaceId, thread_id: threadId } = thread
    parts.bus.publish({ type: 'thread-updated', workspaceId, threadId, sequence: last.sequence })
  }
  if (stopped.length > 0) parts.bus.wake(stopChannel(thread.id))
  for (const run of stopped) parts.bus.wake(runChannel(run.run_id))
  for (const run of stopped) {
    if (run.completed_at === null) continue
    void wakeAsker(parts, run)
    void tellStep(parts, run)
  }
  for (const { run, ids } of withdrawn) {
    const { workspace_id: workspaceId, user_id: userId } = run
    void announceApprovals(parts, { kind: 'tool', workspaceId, userId, ids, status: 'expired' })
  }
  if (started.length > 0) parts.bus.wake(traceChannel(thread.trace_id))
  for (const run of started) void handOver(parts, run)
  if (stopped.length > 0) void startNext(parts, thread.id, thread.workspace_id)
}

/**
 * Has the engine call a worker for a segment. Nobody waits for it, and what does not get through is sent again by the
 * next look around: a call for what is done already finds nothing to do.
 */
export async function handOver(parts: ThreadParts, run: store.RunRow): Promise<void> {
  const { id, thread_row_id: threadRowId, run_id: runId, segment, offers: offer } = run
  const { workspace_id: workspaceId } = run
  try {
    await parts.engine.carryThread({ threadRowId, runId, segment, offer, workspaceId })
    await store.updateSent(parts.database.db, id, segment)
  } catch (error) {
    parts.logger.debug({ err: error, run: toRunId(runId) }, 'a run was not handed over yet')
  }
}

/** Whoever asked the agent of a run that has ended goes on; what fails is done by the next look around. */
async function wakeAsker(
  parts: ThreadParts,
  { parent_run: asker, run_id: runId }: store.RunRow,
): Promise<void> {
  if (asker === null) return
  try {
    const waiting = await store.findRunById(parts.database.db, asker)
    if (waiting?.wait_kind !== 'run' || waiting.wait_ref !== toRunId(runId)) return
    // What it had asked in turn may go on for a moment: the next look around finds when that is over.
    const { isOpen } = await store.findCaused(parts.database.db, runId)
    if (!isOpen) await wakeRunById(parts, asker)
  } catch (error) {
    parts.logger.warn({ err: error, run: toRunId(runId) }, 'whoever asked was not woken yet')
  }
}

/** The step of a workflow that waits for a run goes on. What fails here is done by the next look around. */
export async function tellStep(
  parts: ThreadParts,
  { id, awakeable_id: awakeableId }: Pick<store.RunRow, 'id' | 'awakeable_id'>,
): Promise<void> {
  if (awakeableId === null) return
  try {
    await parts.engine.resolveAwakeable(awakeableId)
    await updateAwaitedTold(parts.database.db, id, awakeableId)
  } catch (error) {
    parts.logger.debug({ err: error, run: id }, 'the waiting step was not told yet')
  }
}

/** Starts whoever is next in line in a thread, then in its workspace. What fails is done by the next look around. */
async function startNext(parts: ThreadParts, threadRowId: number, workspaceId: string): Promise<void> {
  try {
    await startQueued(parts, threadRowId)
    const places = parts.config.chatRunsPerWorkspace
    for (const over of await listWithPlace(parts.database.db, { places, limit: 5, workspaceId }))
      await wakeRunById(parts, over)
    for (const other of await store.listIdleWithQueue(parts.database.db, workspaceId, 5)) {
      await startQueued(parts, other)
    }
  } catch (error) {
    parts.logger.warn({ err: error, thread: threadRowId }, 'the next run was not started yet')
  }
}

/** The first in line of a thread without an active run; those who may not, or cannot pay, end here. */
export async function startQueued(parts: ThreadParts, threadRowId: number): Promise<void> {
  await changeThread(parts, threadRowId, async (tx, change) => {
    if (change.thread.active_run !== null) return
    for (const run of await store.listQueued(tx, threadRowId)) {
      if (!(await store.mayAct(tx, run.id))) {
        await endRun(tx, change, run, accessEnded)
        continue
      }
      if (!(await findAgent(tx, run.workspace_id, run.agent_slug))) {
        await endRun(tx, change, run, agentGone)
        continue
      }
      const refusal = await startRun(tx, parts.config, change, run)
      if (refusal === undefined || refusal === 'no_place') return
      await endRun(tx, change, run, {
        status: 'failed',
        stopReason: 'limit_reached',
        code: 'INSUFFICIENT_CREDITS',
        message: 'Too few credits to start; add credits and send the message again',
      })
    }
  })
}

/** Ends a run unless it has ended; gives how it stands then. */
export async function endRunById(
  parts: ThreadParts,
  run: Pick<store.RunRow, 'id' | 'thread_row_id'>,
  ending: Ending,
  only: (run: store.RunRow) => boolean = () => true,
  spend: (tx: Tx) => Promise<unknown> = async () => {},
): Promise<{ run: store.RunRow; changed: boolean } | undefined> {
  return changeThread(parts, run.thread_row_id, async (tx, change) => {
    const row = await store.findRunById(tx, run.id)
    if (!row) return undefined
    if (row.status === 'completed' || row.status === 'failed' || !only(row))
      return { run: row, changed: false }
    await spend(tx)
    await breakOffRun(tx, change, row, ending)
    return { run: change.stopped.at(-1) ?? row, changed: true }
  })
}

export async function interruptRun(
  parts: ThreadParts,
  run: Pick<store.RunRow, 'id' | 'thread_row_id'>,
  spend?: (tx: Tx) => Promise<unknown>,
) {
  return endRunById(parts, run, interrupted, undefined, spend)
}

/** A request was decided: whoever waits for it goes on. */
export async function wakeDecided(parts: ThreadParts, requestId: string): Promise<void> {
  for (const id of await listWaitingFor(parts.database.db, 'approval', requestId))
    await wakeRunById(parts, id)
}

/** Lets a run go on whose wait is over. */
export async function wakeRunById(parts: ThreadParts, runRowId: number): Promise<void> {
  const run = await store.findRunById(parts.database.db, runRowId)
  if (run?.status !== 'waiting') return
  await changeThread(parts, run.thread_row_id, async (tx, change) => {
    const row = await store.findRunById(tx, runRowId)
    if (row?.status === 'waiting' && row.segment === run.segment) await wakeRun(tx, parts.config, change, row)
  })
}

/** For a key that is revoked together with what it runs. */
export async function stopChatsOfKey(parts: ThreadParts, keyId: number): Promise<number> {
  for (let stopped = 0; ; ) {
    const runs = await listOpenOfKey(parts.database.db, keyId, 20)
    if (runs.length === 0) return stopped
    for (const run of runs) if ((await interruptRun(parts, run))?.changed) stopped++
  }
}
