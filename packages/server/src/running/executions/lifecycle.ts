import { fromDs, type StopReason, toDs } from '@guildhall/contract'
import { requestBudget } from '#access/approvals/approvals.ts'
import { forgetAnswersOf } from '#access/consent/consent.ts'
import { type Author, recordActivity } from '#accounts/activity/activity.ts'
import { findRefusal, insufficientCredits, reserve, settle } from '#accounts/billing/billing.ts'
import { executionRunning, freeSlot, isSlotFree, takeSlot } from '#accounts/workspaces/workspaces.ts'
import { type Actor, actorBehind } from '#operations/actor.ts'
import type { Authority } from '#operations/authority.ts'
import { ApiError } from '#operations/errors.ts'
import type { Config } from '#platform/config.ts'
import type { Tx } from '#platform/database.ts'
import { noteEnd, noteStart } from '#running/traces/traces.ts'
import { requireIdleRoom } from './create.ts'
import { appendEventsLocked, type NewEvent, type StoredEvent } from './event-log.ts'
import * as queue from './queue-store.ts'
import * as store from './store.ts'

/**
 * The life of an execution. Each change is one transaction that holds the execution's row, and in it everything that
 * goes with the change: events, credits, the workspace's slot, the trace. So a crash leaves all of it or none.
 *
 *   idle ── user.message ──▶ working ── the agent finishes ──▶ completed
 *    │                          ├── cancel, interrupt, limit, error, timeout, lost ──▶ failed
 *    └── cancel, 24 hours ──────┴──▶ failed
 *
 * A start reserves credits, then takes the slot, in this order; an end settles and frees them in the same order, so
 * the two never wait for each other crosswise. An execution that was told to wait for the slot stays idle with
 * `queued_at`. Every end raises the attempt number, which shuts the log to whoever still works on it: the last event
 * is `session.status_idle`, and there is exactly one.
 */
export interface StartInput {
  /** All that the agent is given to work on. */
  text: string
  /** What is said to start it, as it was said, message by message. */
  contents: readonly { type: 'text'; text: string }[][]
  /** A start that is not willing to wait is refused when others wait already. */
  ifBusy: 'reject' | 'queue'
  /** The smaller of this and what it was made with holds. */
  maxCostMilliDs: number | null
  /** The person pays; the limit of the key through which it is started counts, not that of the one that made it. */
  by: Actor
  /** What allowed it: recorded with the start, and kept by one that waits. */
  authority: Authority
  /** What whoever starts it calls itself; attribution only. */
  agentSlug: string | null
  /** For a step: that its run was allowed by a grant that is used up. Anything else is asked of the key itself. */
  allowedOnce?: boolean
}

/** By one text that says it all. */
export function toStartInput(
  by: Actor,
  authority: Authority,
  text: string,
  { ifBusy = 'reject', maxCost, agentSlug }: StartOptions,
): StartInput {
  const maxCostMilliDs = maxCost === undefined ? null : fromDs(maxCost)
  const contents = [[{ type: 'text' as const, text }]]
  return { text, contents, ifBusy, maxCostMilliDs, by, authority, agentSlug }
}

interface StartOptions {
  ifBusy?: StartInput['ifBusy'] | undefined
  maxCost?: number | undefined
  agentSlug: string | null
}

type StartConfig = Pick<Config, 'defaultMaxCostMilliDs' | 'quotas'>

export interface Changed {
  row: store.ExecutionRow
  events: StoredEvent[]
  /** What the owner of its key is asked because of it. */
  budgetRequest?: string | undefined
}

export async function startExecution(
  tx: Tx,
  config: StartConfig,
  row: store.ExecutionRow,
  input: StartInput,
): Promise<Changed> {
  const messages = input.contents.map((content): NewEvent => ({ type: 'user.message', payload: { content } }))
  const start = startOf(row, input)
  const mayWait = input.ifBusy === 'queue'
  if (!mayWait) {
    // What is refused anyway is refused here, before a lock: else hundreds of starts at once wait for one another.
    const refusal = await findRefusal(tx, creditsFor(config, row, start))
    if (refusal) throw insufficientCredits(refusal)
  }
  const busy = (await queue.findQueued(tx, row.workspace_id)) || !(await isSlotFree(tx, row.workspace_id))
  if (!busy) {
    const started = await tryStart(tx, config, row, start, messages)
    if (started) return started
  }
  // Also for who would wait: the reservation must go with the transaction. The next try finds the slot taken.
  if (!mayWait || !busy) throw await executionRunning(tx, row.workspace_id)
  // Before the moment is written by which they stand in line, so that nobody comes in before one who was told a place.
  await queue.lockIdle(tx, row.workspace_id)
  const queued = await queue.updateQueued(tx, row.id, start)
  await requireIdleRoom(tx, config, queued)
  const events = await appendEventsLocked(tx, row.id, messages)
  return { row: queued, events }
}

function startOf(row: store.ExecutionRow, input: StartInput): store.Start {
  const { text, maxCostMilliDs, by, authority, allowedOnce, agentSlug } = input
  const ceilings = [row.max_cost_milli_ds, maxCostMilliDs].filter((ceiling) => ceiling !== null)
  return {
    api_key_id: by.apiKeyId,
    oauth_grant_id: by.oauthGrantId,
    allowed_once: allowedOnce,
    authority,
    skill_slug: row.skill_slug,
    input_text: text,
    agent_slug: agentSlug ?? row.agent_slug,
    max_cost_milli_ds: ceilings.length === 0 ? null : Math.min(...ceilings),
  }
}

/** Undefined when the slot is taken; then the transaction must not be committed. */
async function tryStart(
  tx: Tx,
  config: StartConfig,
  row: store.ExecutionRow,
  start: store.Start,
  before: readonly NewEvent[],
): Promise<Changed | undefined> {
  const reserved = await reserve(tx, creditsFor(config, row, start))
  if (!reserved.ok) throw insufficientCredits(reserved)
  if (!(await takeSlot(tx, row.workspace_id, row.id))) return undefined
  const started = await store.claimStart(tx, row.id, reserved.reservation.amountMilliDs, start)
  // Its row is held and idle, so this is about who starts it: asked anew here, where a key's row is held by what it spends.
  if (!started) throw accessEnded()
  const events = await appendEventsLocked(tx, row.id, [
    ...before,
    { type: 'session.status_running', payload: {} },
  ])
  await noteStart(tx, inTrace(started))
  await tell(tx, started, actorBehind(started), 'execution.started', {
    reserved: toDs(started.reserved_milli_ds),
  })
  return { row: started, events }
}

function creditsFor(
  { defaultMaxCostMilliDs }: StartConfig,
  row: store.ExecutionRow,
  { api_key_id: keyId, max_cost_milli_ds: maxCostMilliDs }: store.Start,
) {
  const { user_id: userId, workspace_id: workspaceId, execution_id: executionId } = row
  const kind = 'execution' as const
  return { userId, workspaceId, executionId, kind, keyId, maxCostMilliDs, defaultMaxCostMilliDs }
}

/**
 * Starts whoever has waited longest in a workspace, if nothing works there. One whose credits no longer suffice, or who
 * may no longer act, ends here, and the next one is looked at by the next call.
 */
export async function startQueued(
  tx: Tx,
  config: StartConfig,
  workspaceId: string,
): Promise<Changed | undefined> {
  const row = await queue.lockQueueHead(tx, workspaceId)
  if (!row) return undefined
  if (!(await isSlotFree(tx, workspaceId))) return undefined
  if (!row.may_act)
    return endExecution(tx, row, { status: 'failed', stopReason: 'error', code: accessEndedCode })
  try {
    const started = await tryStart(tx, config, row, row, [])
    if (started) return started
    throw await executionRunning(tx, workspaceId)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'INSUFFICIENT_CREDITS') throw error
    return endExecution(tx, row, { status: 'failed', stopReason: 'limit_reached', code: error.code })
  }
}

const accessEndedCode = 'ACCESS_ENDED'

function accessEnded(): ApiError {
  const message = 'Your access ended while this was being started; nothing was started'
  return new ApiError('FORBIDDEN', { message, details: { code: accessEndedCode } })
}

export interface Ending {
  status: 'completed' | 'failed'
  stopReason: StopReason
  code?: string
  summary?: string
  /** Told before the last event. */
  events?: readonly NewEvent[]
  /** A fault of ours cost the person the result: then it costs nothing. */
  free?: boolean
  /** Who had it ended, if somebody did. */
  by?: Author | undefined
}

/** Whether it ends a call of the model that nothing was wrong with. */
function breaksOff({ stopReason, code }: Ending): boolean {
  return stopReason === 'interrupt' || code === timedOutCode
}

export const timedOutCode = 'EXECUTION_TIMEOUT'

/** Why an execution ended that no worker ever had. Nothing was done for it, and nothing is charged. */
export const neverBegan = 'EXECUTION_FAILED'

/** Call it with the row locked and not ended. */
export async function endExecution(tx: Tx, row: store.ExecutionRow, ending: Ending): Promise<Changed> {
  const { status, stopReason, code } = ending
  const usedMilliDs = row.cost_milli_ds + (breaksOff(ending) ? row.asking_milli_ds : 0)
  const costMilliDs = ending.free ? 0 : usedMilliDs
  const ran = row.status === 'working'
  let chargedMilliDs = 0
  if (ran) {
    chargedMilliDs = await settle(tx, row.execution_id, costMilliDs, actorBehind(row))
    await freeSlot(tx, row.workspace_id, row.id)
  }
  const reason = { type: stopReason, ...(code === undefined ? {} : { code }) }
  const events = await appendEventsLocked(tx, row.id, [
    ...(ending.events ?? []),
    { type: 'session.status_idle', payload: { stop_reason: reason } },
  ])
  const change = {
    status,
    stop_reason: stopReason,
    error_code: code ?? null,
    summary: ending.summary ?? null,
    cost_milli_ds: costMilliDs,
  }
  await store.updateEnded(tx, row.id, change)
  // Here and nowhere else: were the record gone while this could still run, a repeat would run it twice.
  if (code === neverBegan) await forgetAnswersOf(tx, [row.execution_id])
  await noteEnd(tx, inTrace(row), { status, ran, chargedMilliDs, shownMilliDs: usedMilliDs })
  if (ending.by) await tell(tx, row, ending.by, 'execution.canceled')
  const budgetRequest = code === 'KEY_SPEND_LIMIT' ? await askForBudget(tx, row) : undefined
  return { row: { ...row, ...change }, events, budgetRequest }
}

async function tell(
  tx: Tx,
  { workspace_id: workspaceId, execution_id: executionId, skill_slug: skillSlug }: store.ExecutionRow,
  by: Author,
  type: 'execution.started' | 'execution.canceled',
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await recordActivity(tx, by, { type, workspaceId, details: { executionId, skillSlug, ...more } })
}

async function askForBudget(tx: Tx, row: store.ExecutionRow): Promise<string | undefined> {
  const { execution_id: executionId, api_key_id: keyId, user_id: userId, workspace_id: workspaceId } = row
  return keyId === null ? undefined : requestBudget(tx, { executionId, keyId, userId, workspaceId })
}

function inTrace(row: store.ExecutionRow) {
  const {
    workspace_id: workspaceId,
    trace_id: traceId,
    execution_id: executionId,
    agent_slug: agentSlug,
  } = row
  return { workspaceId, traceId, executionId, agentSlug }
}

export function hasEnded({ status }: Pick<store.ExecutionRow, 'status'>): boolean {
  return status === 'completed' || status === 'failed'
}
