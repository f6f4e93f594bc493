import { createHash, randomUUID } from 'node:crypto'
import { forgetAnswersOf } from '#access/consent/consent.ts'
import { recordActivity } from '#accounts/activity/activity.ts'
import { compileFor, resolveWorkflow, runtimeId } from '#library/workflows/workflows.ts'
import { accessEnded, checkInputs, type Reuse } from '#machinery/graph/graph.ts'
import { type Actor, actorBehind } from '#operations/actor.ts'
import type { Authority } from '#operations/authority.ts'
import { ApiError } from '#operations/errors.ts'
import type { Db, Tx } from '#platform/database.ts'
import { announceRun } from './announce.ts'
import { handOver, queueRun, sendRun } from './queue.ts'
import * as reconcileStore from './reconcile-store.ts'
import type { RunParts } from './run-parts.ts'
import * as store from './store.ts'

/** What is run: a definition as it is now, or as it was when an earlier run was launched. */
export interface Runnable {
  readonly slug: string
  readonly definitionId: string
  readonly definition: string
}

export interface Launcher extends Actor {
  /** By what it is allowed to; so is all that the run does. */
  readonly authority: Authority
  readonly source: string
  readonly conversationId?: string
  /** What it calls itself; attribution only. */
  readonly agentSlug: string | null
}

export interface LaunchInput {
  readonly inputs: unknown
  readonly parentRunId?: string
  readonly reuse?: Reuse
}

/** The workflow that is meant, checked again: agents and tools may have gone since it was installed. */
export async function findRunnable(
  parts: RunParts,
  workspaceId: string,
  id: string,
  inputs: unknown,
): Promise<Runnable> {
  const found = await resolveWorkflow(parts.database.db, workspaceId, id)
  if (!found) throw new ApiError('NOT_FOUND', { message: 'This workflow is not installed here' })
  if ('candidates' in found) {
    const message = 'Several workflows declare this id; launch one of them by its slug'
    throw new ApiError('INVALID_INPUT', { message, details: { candidates: found.candidates } })
  }
  const { slug, definition, definition_id: definitionId } = found.row
  await requireFit(parts, workspaceId, definition, inputs)
  return { slug, definition, definitionId }
}

/** Refuses what would not compile here now, and inputs that the definition does not take. */
export async function requireFit(
  parts: RunParts,
  workspaceId: string,
  definition: string,
  inputs: unknown,
): Promise<void> {
  const { workflow, report } = await compileFor(parts, workspaceId, definition)
  if (!workflow) {
    const message = 'This workflow cannot be loaded any more; install it again'
    throw new ApiError('INVALID_INPUT', { message, details: { ...report } })
  }
  const issues = checkInputs(workflow.inputSchema, inputs)
  const [first] = issues
  if (!first) return
  const message = `inputs${first.path === '' ? '' : `.${first.path}`}: ${first.message}`
  throw new ApiError('INVALID_INPUT', { message, details: { issues } })
}

export function checksumOf({ definition }: Pick<Runnable, 'definition'>): string {
  return createHash('sha256').update(definition).digest('hex')
}

/** Makes the run's row. It is not shown before `confirmLaunch`, also when it has to wait for a place. */
export async function prepareLaunch(
  db: Db,
  parts: RunParts,
  launcher: Launcher,
  { slug, definition, definitionId }: Runnable,
  { inputs, parentRunId, reuse }: LaunchInput,
): Promise<store.RunRow> {
  const { workspaceId, userId, apiKeyId, oauthGrantId, authority } = launcher
  const { source, conversationId, agentSlug } = launcher
  const { runsPerWorkspace, quotas } = parts.config
  const row: store.NewRun = {
    run_id: `run_${randomUUID()}`,
    workspace_id: workspaceId,
    workflow_id: runtimeId(workspaceId, slug),
    workflow_slug: slug,
    definition_id: definitionId,
    definition_checksum: checksumOf({ definition }),
    user_id: userId,
    api_key_id: apiKeyId,
    oauth_grant_id: oauthGrantId,
    authority: JSON.stringify(authority),
    conversation_id: conversationId ?? null,
    source,
    agent_slug: agentSlug,
    inputs: JSON.stringify(inputs),
    parent_run_id: parentRunId ?? null,
    reuse: reuse ? JSON.stringify(reuse) : null,
  }
  const made = await store.insertRun(db, row, definition, {
    places: runsPerWorkspace,
    bytes: quotas.runBytes,
  })
  if (made === 'no room') throw isFull(quotas.runBytes)
  if (made === 'may not act')
    throw new ApiError('FORBIDDEN', { message: accessEnded.message, details: { code: accessEnded.code } })
  return made
}

/** A workspace cannot fill the disk of all with its runs. What is under way goes on, and ends where each run has to. */
function isFull(limit: number): ApiError {
  const message = `The runs of a workspace take at most ${limit} bytes; ask its operator for more`
  return new ApiError('INVALID_INPUT', { message, details: { limit } })
}

/**
 * Hands a prepared run to the engine, or to the queue in front of it. Refused when the engine cannot be asked; then nothing
 * of the run may happen, also when the word got there all the same: its driver finds it void. A repeat of a launch that is
 * still under way comes here too, and asks twice for one run.
 */
export async function confirmLaunch(parts: RunParts, runId: string, made?: store.RunRow): Promise<void> {
  const row = made ?? (await store.findRunById(parts.database.db, runId))
  if (row?.status === 'void' || !row) throw unavailable()
  if (row.status !== 'launching') return
  let launched: Awaited<ReturnType<typeof sendRun>>
  try {
    launched = (row.queued_at !== null && (await queueRun(parts, runId))) || (await sendRun(parts, runId))
  } catch (error) {
    if (await isLaunched(parts, runId)) return
    throw unavailable(error)
  }
  if (!launched) throw unavailable()
  announceRun(parts, { ...row, status: launched.status })
}

const takenBackWithinMs = 2000

/**
 * What the row says of a launch that the engine did not confirm, once it is taken back if nobody has it. As long as that
 * cannot be known a record of the request stays, and a repeat of it goes on with the same run.
 */
async function isLaunched(parts: RunParts, runId: string): Promise<boolean> {
  const { database, logger } = parts
  try {
    const voided = await database.transaction((tx) => voidLaunch(tx, runId), {
      lockWithinMs: takenBackWithinMs,
    })
    if (voided) void handOver(parts, voided.workspace_id)
  } catch (error) {
    logger.warn({ err: error, run: runId }, 'a launch that the engine did not confirm was not taken back yet')
  }
  const row = await store.findRunById(database.db, runId).catch(() => undefined)
  return row !== undefined && row.status !== 'launching' && row.status !== 'void'
}

async function voidLaunch(tx: Tx, runId: string) {
  const voided = await store.claimVoid(tx, runId)
  if (voided) await tellVoided(tx, [voided])
  return voided
}

async function tellVoided(tx: Tx, voided: readonly store.VoidedRow[]): Promise<void> {
  await forgetAnswersOf(
    tx,
    voided.map(({ run_id }) => run_id),
  )
  for (const row of voided) {
    const { run_id: runId, workflow_id: workflowId, workspace_id: workspaceId } = row
    const by = actorBehind(row)
    await recordActivity(tx, by, {
      type: 'workflow.launch_failed',
      workspaceId,
      details: { runId, workflowId },
    })
  }
}

/** Launches that nobody confirmed are void; whoever repeats one launches anew. */
export async function voidOldLaunches({ database }: RunParts, olderThanSeconds: number): Promise<string[]> {
  return database.transaction(async (tx) => {
    const voided = await reconcileStore.claimOldLaunches(tx, olderThanSeconds)
    await tellVoided(tx, voided)
    return voided.map(({ workspace_id }) => workspace_id)
  })
}

function unavailable(cause?: unknown): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', { cause, retryAfterSeconds: 1 })
}
