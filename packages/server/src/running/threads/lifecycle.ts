import { fromDs, minimumCreditsDs, toDs } from '@guildhall/contract'
import { dropToolRequests } from '#access/approvals/approvals.ts'
import { type Refusal, reserve, settle } from '#accounts/billing/billing.ts'
import type { Actor } from '#operations/actor.ts'
import type { Config } from '#platform/config.ts'
import type { Tx } from '#platform/database.ts'
import { noteEnd, noteStart, noteWait, openChatTrace, traceKeyOfRun } from '#running/traces/traces.ts'
import { updatePendingKept } from './step-store.ts'
import * as store from './store.ts'
import { appendEvents, type NewEvent, type StoredEvent, toRunId } from './thread-log.ts'
import { updateRunOver, updateRunWaiting, updateRunWoken, type Wait } from './wait-store.ts'

/**
 * The life of a run. Each change is one transaction that holds the thread's row, and in it all that goes with the change:
 * events, credits, the place, the trace. Locks are taken in the order thread, places of the workspace, account, trace.
 *
 *   queued ──▶ working ⇄ waiting ──▶ completed
 *     └───────────┴─────────┴──────▶ failed (interrupt, limit_reached, error)
 *
 * Every change of who may write raises the thread's attempt, which shuts the log to whoever wrote before.
 */
export interface Change {
  readonly thread: store.ThreadRow
  readonly events: StoredEvent[]
  readonly started: store.RunRow[]
  /** Those that ended or wait, as they stand now. */
  readonly stopped: store.RunRow[]
  /** What runs that ended had asked their person, and ask no more. */
  readonly withdrawn: { readonly run: store.RunRow; readonly ids: readonly string[] }[]
}

export function changeOf(thread: store.ThreadRow): Change {
  return { thread, events: [], started: [], stopped: [], withdrawn: [] }
}

/** As much as whoever starts must have. */
export const firstMilliDs = fromDs(minimumCreditsDs)

type RunConfig = Pick<Config, 'defaultMaxCostMilliDs' | 'chatRunsPerWorkspace'>

/** Numbers and keeps what is said. */
export async function say(tx: Tx, change: Change, events: readonly NewEvent[]): Promise<StoredEvent[]> {
  const said = await appendEvents(tx, change.thread.id, events)
  change.events.push(...said)
  return said
}

/** Whoever a run acts for, as effects are told. */
export function actorOf(run: store.RunRow): Actor {
  return {
    workspaceId: run.workspace_id,
    userId: run.user_id,
    apiKeyId: run.credential_kind === 'key' ? run.credential_id : null,
    oauthGrantId: run.credential_kind === 'oauth' ? run.credential_id : null,
  }
}

/** What a segment of a run is paid under; that of a workflow's step among what the workflow's run cost. */
export function reservationOf({
  run_id,
  step_key,
  segment,
}: Pick<store.RunRow, 'run_id' | 'step_key' | 'segment'>): string {
  return `${step_key ?? toRunId(run_id)}.${segment}`
}

/** What a run may cost in all. */
export function costLimitOf({ defaultMaxCostMilliDs }: RunConfig, run: store.RunRow): number {
  return Math.min(run.max_cost_milli_ds ?? Number.POSITIVE_INFINITY, defaultMaxCostMilliDs)
}

/** What a segment may still cost. */
export function leftOf(config: RunConfig, run: store.RunRow): number {
  return Math.max(0, costLimitOf(config, run) - run.settled_milli_ds - run.delegated_milli_ds)
}

/** Little at first: more is set aside before each reply that may need it, so that others can start beside this. */
async function reserveFor(tx: Tx, config: RunConfig, run: store.RunRow) {
  return reserve(tx, {
    userId: run.user_id,
    workspaceId: run.workspace_id,
    executionId: reservationOf(run),
    kind: 'chat',
    keyId: actorOf(run).apiKeyId,
    maxCostMilliDs: Math.min(leftOf(config, run), firstMilliDs),
    defaultMaxCostMilliDs: config.defaultMaxCostMilliDs,
  })
}

/**
 * Starts a queued run, in a thread without an active one. Gives why not: there is no place, or too few credits; then
 * nothing has changed.
 */
export async function startRun(
  tx: Tx,
  config: RunConfig,
  change: Change,
  run: store.RunRow,
): Promise<'no_place' | Refusal | undefined> {
  if (!(await store.isPlaceFree(tx, run, config.chatRunsPerWorkspace))) return 'no_place'
  const reserved = await reserveFor(tx, config, run)
  if (!reserved.ok) return reserved
  const started = await store.updateRunStarted(tx, run.id)
  await store.updateActive(tx, run.thread_row_id, run.id)
  const answers = await store.listMessageIds(tx, run)
  await say(tx, change, [
    {
      type: 'run.started',
      runId: run.run_id,
      payload: {
        agentId: `${run.workspace_id}:${run.agent_slug}`,
        agentVersion: run.agent_version,
        model: run.model ?? '',
        answers,
      },
    },
  ])
  await tellTrace(tx, change.thread, run)
  change.started.push(started)
  return undefined
}

/** The first start opens the trace. A private thread has none. */
async function tellTrace(tx: Tx, thread: store.ThreadRow, run: store.RunRow): Promise<void> {
  if (thread.visibility === 'private') return
  await openChatTrace(tx, {
    id: thread.trace_id,
    workspaceId: thread.workspace_id,
    userId: thread.user_id,
    apiKeyId: thread.api_key_id,
    agentSlug: thread.agent_slug,
    title: thread.title,
    threadRowId: thread.id,
    ...(run.workflow_run_id !== null && { traceKey: traceKeyOfRun(run.workflow_run_id) }),
  })
  await noteStart(tx, inTrace(thread, run))
}

export interface Ending {
  readonly status: 'completed' | 'failed'
  readonly stopReason: 'end_turn' | 'interrupt' | 'limit_reached' | 'error'
  readonly code?: string | undefined
  /** For people, told before the last event. */
  readonly message?: string | undefined
}

export const interrupted: Ending = { status: 'failed', stopReason: 'interrupt' }
export const accessEnded: Ending = {
  status: 'failed',
  stopReason: 'error',
  code: 'ACCESS_ENDED',
  message: 'The access that this was started with has ended',
}

export const agentGone: Ending = {
  status: 'failed',
  stopReason: 'error',
  code: 'AGENT_DELETED',
  message: 'The agent that should answer was deleted',
}

/** Ends a run that has not ended, whatever it was doing, and charges what it used. */
export async function endRun(tx: Tx, change: Change, run: store.RunRow, ending: Ending): Promise<void> {
  const { thread } = change
  const { status, stopReason, code, message } = ending
  const usedMilliDs = run.cost_milli_ds - run.settled_milli_ds
  const ran = run.status !== 'queued'
  const charged =
    run.status === 'working' ? await settle(tx, reservationOf(run), usedMilliDs, actorOf(run)) : 0
  const ended = await store.updateRunEnded(tx, run.id, {
    status,
    stop_reason: stopReason,
    error_code: code ?? null,
    settled_milli_ds: run.settled_milli_ds + charged,
  })
  await say(tx, change, [
    ...(message === undefined
      ? []
      : [{ type: 'error', runId: run.run_id, payload: { code: code ?? stopReason, message } } as const]),
    {
      type: 'run.finished',
      runId: run.run_id,
      payload: {
        status,
        stop_reason: { type: stopReason, ...(code !== undefined && { code }) },
        usage: { inputTokens: run.input_tokens, outputTokens: run.output_tokens },
        cost: toDs(run.cost_milli_ds),
        model: run.model,
        ...launchedBy(run),
      },
    },
  ])
  if (ran) await store.updateActive(tx, thread.id, null)
  if (ran && thread.visibility !== 'private') {
    await noteEnd(tx, inTrace(thread, run), {
      status,
      ran,
      chargedMilliDs: charged,
      shownMilliDs: usedMilliDs,
    })
  }
  const ids = run.status === 'waiting' ? await dropToolRequests(tx, toRunId(run.run_id)) : []
  if (ids.length > 0) change.withdrawn.push({ run, ids })
  change.stopped.push(ended)
}

/** Ends a run from outside of whoever works at it: the reply under way is over, and what it took is paid. */
export async function breakOffRun(tx: Tx, change: Change, run: store.RunRow, ending: Ending): Promise<void> {
  await endRun(tx, change, run.status === 'working' ? await updatePendingKept(tx, run) : run, ending)
}

/** The runs of workflows that a run had launched, if any. */
export function launchedBy({ workflow_runs: workflowRuns }: store.RunRow): { workflowRuns?: string[] } {
  return workflowRuns.length === 0 ? {} : { workflowRuns }
}

/** Puts a working run aside until something has happened: what it used is charged, and nothing is held for it. */
export async function waitRun(tx: Tx, change: Change, run: store.RunRow, wait: Wait): Promise<void> {
  const { thread } = change
  const charged = await settle(tx, reservationOf(run), run.cost_milli_ds - run.settled_milli_ds, actorOf(run))
  const waiting = await updateRunWaiting(tx, run, wait, charged)
  if (wait.frame) await say(tx, change, [{ ...wait.frame, runId: run.run_id }])
  await store.updateActive(tx, thread.id, run.id)
  if (thread.visibility !== 'private') await noteWait(tx, inTrace(thread, run), charged)
  change.stopped.push(waiting)
}

/** Has a waiting run go on, if who it acts for still may and can pay. Without a place it stands in line for one. */
export async function wakeRun(tx: Tx, config: RunConfig, change: Change, run: store.RunRow): Promise<void> {
  if (!(await store.mayAct(tx, run.id))) return endRun(tx, change, run, accessEnded)
  if (!(await store.isPlaceFree(tx, run, config.chatRunsPerWorkspace))) return updateRunOver(tx, run.id)
  const reserved = await reserveFor(tx, config, run)
  if (!reserved.ok) {
    return endRun(tx, change, run, {
      status: 'failed',
      stopReason: 'limit_reached',
      code: 'INSUFFICIENT_CREDITS',
      message: 'Too few credits to go on; add credits and send the message again',
    })
  }
  const woken = await updateRunWoken(tx, run.id)
  await store.updateActive(tx, change.thread.id, run.id)
  if (change.thread.visibility !== 'private') await noteStart(tx, inTrace(change.thread, run))
  change.started.push(woken)
}

function inTrace(thread: store.ThreadRow, run: store.RunRow) {
  return {
    workspaceId: thread.workspace_id,
    traceId: thread.trace_id,
    executionId: null,
    agentSlug: run.agent_slug,
  }
}
