import { randomUUID } from 'node:crypto'
import { fromDs, inputBytes } from '@guildhall/contract'
import { keepBundle, requireArtifactRoom, type StoredBundle } from '#library/artifacts/artifacts.ts'
import type { LiveSkill } from '#library/skills/skills.ts'
import type { Actor } from '#operations/actor.ts'
import type { Call } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Principal } from '#operations/principal.ts'
import type { Config } from '#platform/config.ts'
import type { Db, Tx } from '#platform/database.ts'
import { type FoundTrace, findTrace, openTrace, traceKeyOfRun } from '#running/traces/traces.ts'
import * as queue from './queue-store.ts'
import * as store from './store.ts'

export interface ExecutionInput {
  input: string
  source?: string | undefined
  interface?: string | undefined
  maxCost?: number | undefined
  /** Left out, those of the parent are kept; null for none. */
  attachments?: StoredBundle | null | undefined
  connector?: Readonly<Record<string, unknown>> | undefined
  /** What this is a rerun of; the lineage goes on. */
  parent?: store.ExecutionRow
  /** What this is a remix of; a lineage of its own. */
  remixed?: store.ExecutionRow | undefined
  /** What whoever makes it calls itself; attribution only. */
  agentSlug: string | null
  /** The trace this goes on with, instead of one of its own. */
  traceId?: string | undefined
  /** The run of a chat whose agent has it started. */
  chatRunId?: string | undefined
  /** The step of a workflow that waits for it. */
  step?: { runId: string; key: string; awakeableId: string }
}

/** An idle execution of the skill as it is now: whatever is installed later, this runs what was there. */
export async function prepareExecution(
  tx: Tx,
  config: Pick<Config, 'quotas'>,
  { workspaceId, userId, apiKeyId, oauthGrantId }: Actor,
  skill: LiveSkill,
  given: ExecutionInput,
): Promise<store.ExecutionRow> {
  const executionId = `exec_${randomUUID()}`
  if (given.attachments) await keepBundle(tx, given.attachments)
  const parentTrace = given.parent && (await findTrace(tx, workspaceId, given.parent.trace_id))
  const { agentSlug } = given
  const traceId =
    given.traceId ??
    (await openTrace(tx, {
      workspaceId,
      userId,
      apiKeyId,
      agentSlug,
      executionId,
      title: given.input === '' ? skill.name : `${skill.name}: ${given.input}`,
      parentTraceId: (given.parent ?? given.remixed)?.trace_id ?? null,
      traceKey: given.step ? traceKeyOfRun(given.step.runId) : parentTrace?.trace_key,
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
      given.attachments === undefined
        ? (given.parent?.attachments_checksum ?? null)
        : (given.attachments?.checksum ?? null),
    connector: given.connector === undefined ? null : JSON.stringify(given.connector),
    source: given.source ?? 'api',
    interface: given.interface ?? 'api',
    input_text: given.input,
    max_cost_milli_ds: given.maxCost === undefined ? null : fromDs(given.maxCost),
    parent_execution_id: given.parent?.execution_id ?? null,
    trace_id: traceId,
    workflow_run_id: given.step?.runId ?? null,
    awakeable_id: given.step?.awakeableId ?? null,
    step_key: given.step?.key ?? null,
    chat_run_id: given.chatRunId ?? null,
    agent_slug: agentSlug,
  })
  // After the insert, which holds the workspace's counters until the end.
  if (row.attachments_checksum !== null) await requireArtifactRoom(tx, config, workspaceId)
  return row
}

/**
 * For a transaction in which one more has become idle, to stay so: it goes with the refusal. A key or an app, which needs
 * no scope to prepare one, has a share of the workspace's and no more; what its runs and chats have waiting is not counted.
 */
export async function requireIdleRoom(
  tx: Tx,
  { quotas: { idleExecutions, idleExecutionsPerKey } }: Pick<Config, 'quotas'>,
  row: store.ExecutionRow,
): Promise<void> {
  const refuse = (limit: number, whose: string) => {
    throw new ApiError('INVALID_INPUT', {
      message: `At most ${limit} executions of ${whose} may wait to be started; start or cancel some first`,
      details: { limit },
    })
  }
  if ((await queue.countIdleLocked(tx, row.workspace_id, idleExecutions)) > idleExecutions)
    refuse(idleExecutions, 'a workspace')
  if ((await queue.countIdleOf(tx, row)) > idleExecutionsPerKey)
    refuse(idleExecutionsPerKey, row.api_key_id === null ? 'an app' : 'a key')
}

/** In bytes of the payload, not in characters. */
export function requireSmallInput(input: string): void {
  if (Buffer.byteLength(input) <= inputBytes) return
  throw new ApiError('INVALID_INPUT', {
    message: `input: at most ${inputBytes} bytes; send more as attachments`,
    details: { limit: inputBytes },
  })
}

/** Which skill a continued trace was about; it may have been about none. */
export async function skillOfTrace(
  db: Db,
  { id, workspace_id: workspaceId, execution_id: earlierId }: FoundTrace,
) {
  const earlier = earlierId === null ? undefined : await store.findExecution(db, workspaceId, earlierId)
  return { traceId: id, skillSlug: earlier?.skill_slug }
}

/** What only the house's own parts call themselves: a list of what the app started holds nothing that a key started. */
const houseSources = ['app', 'chat', 'workflow']

export function refuseHouseSource(
  { principal, client }: Pick<Call, 'client'> & { principal: Principal },
  source = '',
) {
  const isOwn = principal.kind === 'session' || client.via !== 'http'
  if (isOwn || !houseSources.includes(source.trim().toLowerCase())) return
  throw new ApiError('INVALID_INPUT', {
    message: `source: "${source}" is what a part of Guildhall calls itself; give a name of your own`,
  })
}
