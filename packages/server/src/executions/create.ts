import { randomUUID } from 'node:crypto'
import { fromDs, inputBytes } from '@guildhall/contract'
import { keepBundle, requireArtifactRoom, type StoredBundle } from '../artifacts/artifacts.ts'
import type { Actor } from '../operations/actor.ts'
import { ApiError } from '../operations/errors.ts'
import type { Config } from '../platform/config.ts'
import type { Db, Tx } from '../platform/database.ts'
import type { LiveSkill } from '../skills/skills.ts'
import { findTrace, openTrace } from '../traces/traces.ts'
import * as store from './store.ts'

export interface ExecutionWish {
  input: string
  source?: string | undefined
  interface?: string | undefined
  maxCost?: number | undefined
  /** Left out, those of the parent are kept; null for none. */
  attachments?: StoredBundle | null | undefined
  connector?: Readonly<Record<string, unknown>> | undefined
  /** What this is a rerun of; the lineage goes on. */
  parent?: store.ExecutionRow
  /** The trace this goes on with, instead of one of its own. */
  traceId?: string | undefined
  /** The step of a workflow that waits for it. */
  step?: { runId: string; key: string; awakeableId: string }
}

/** An idle execution of the skill as it is now: whatever is installed later, this runs what was there. */
export async function prepareExecution(
  tx: Tx,
  config: Pick<Config, 'quotas'>,
  { workspaceId, userId, apiKeyId, oauthGrantId }: Actor,
  skill: LiveSkill,
  wish: ExecutionWish,
): Promise<store.ExecutionRow> {
  const executionId = `exec_${randomUUID()}`
  if (wish.attachments) await keepBundle(tx, wish.attachments)
  const parentTrace = wish.parent && (await findTrace(tx, workspaceId, wish.parent.trace_id))
  const traceId =
    wish.traceId ??
    (await openTrace(tx, {
      workspaceId,
      userId,
      apiKeyId,
      executionId,
      title: `${skill.name}: ${wish.input}`,
      traceKey: parentTrace?.trace_key,
    }))
  const row = await store.insertExecution(tx, {
    execution_id: executionId,
    workspace_id: workspaceId,
    user_id: userId,
    api_key_id: apiKeyId,
    oauth_grant_id: oauthGrantId,
    skill_id: skill.skill_id,
    skill_slug: skill.slug,
    skill_name: skill.name,
    skill_version: skill.version_number,
    bundle_checksum: skill.bundle_checksum,
    attachments_checksum:
      wish.attachments === undefined
        ? (wish.parent?.attachments_checksum ?? null)
        : (wish.attachments?.checksum ?? null),
    connector: wish.connector === undefined ? null : JSON.stringify(wish.connector),
    source: wish.source ?? 'api',
    interface: wish.interface ?? 'api',
    input_text: wish.input,
    max_cost_milli_ds: wish.maxCost === undefined ? null : fromDs(wish.maxCost),
    parent_execution_id: wish.parent?.execution_id ?? null,
    trace_id: traceId,
    workflow_run_id: wish.step?.runId ?? null,
    awakeable_id: wish.step?.awakeableId ?? null,
    step_key: wish.step?.key ?? null,
  })
  // After the insert, which holds the workspace's counters until the end.
  if (row.attachments_checksum !== null) await requireArtifactRoom(tx, config, workspaceId)
  return row
}

/** For a transaction in which one more has become idle, to stay so: it goes with the refusal. */
export async function requireIdleRoom(
  tx: Tx,
  { quotas: { idleExecutions: limit } }: Pick<Config, 'quotas'>,
  workspaceId: string,
): Promise<void> {
  if ((await store.countIdleLocked(tx, workspaceId, limit)) <= limit) return
  throw new ApiError('INVALID_INPUT', {
    message: `At most ${limit} executions of a workspace may wait to be started; start or cancel some first`,
    details: { limit },
  })
}

/** In bytes of the payload, not in characters. */
export function requireSmallInput(input: string): void {
  if (Buffer.byteLength(input) <= inputBytes) return
  throw new ApiError('INVALID_INPUT', {
    message: `input: at most ${inputBytes} bytes; send more as attachments`,
    details: { limit: inputBytes },
  })
}

/** Which skill a continued trace was about. */
export async function skillOfTrace(db: Db, workspaceId: string, traceId: string | undefined) {
  if (traceId === undefined) return undefined
  const trace = await findTrace(db, workspaceId, traceId)
  const earlier = trace?.execution_id && (await store.findExecution(db, workspaceId, trace.execution_id))
  if (!trace || !earlier) throw new ApiError('NOT_FOUND')
  return { traceId: trace.id, skillSlug: earlier.skill_slug }
}
