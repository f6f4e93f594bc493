import { createHash } from 'node:crypto'
import { listDecided } from '#access/approvals/approvals.ts'
import { findKeyPrefix } from '#access/keys/keys.ts'
import { listEntriesOf } from '#accounts/billing/billing.ts'
import { findArtifact, listBundleFiles } from '#library/artifacts/artifacts.ts'
import { hasRunEnded } from '#machinery/graph/graph.ts'
import { type Actor, actorBehind } from '#operations/actor.ts'
import type { Database, Db } from '#platform/database.ts'
import { findEnded, listEvents } from '#running/executions/executions.ts'
import { findRunById, listStepTexts } from '#running/runs/runs.ts'
import { findTrace, traceKeyOfRun } from '#running/traces/traces.ts'
import { describeDecided, type Facts } from './compose.ts'
import { type KeptFile, LogFold } from './log-fold.ts'

const eventsAtOnce = 1000

/** Of an execution; undefined unless it has ended. It does not change any more, so it is read without a lock. */
export async function factsOfExecution(database: Database, executionId: string): Promise<Facts | undefined> {
  const { db } = database
  const row = await findEnded(db, executionId)
  if (!row) return undefined
  const actor = actorBehind(row)
  const { workspaceId } = actor
  const trace = await findTrace(db, workspaceId, row.trace_id)
  const { log, redactions, models, toolCalls, files } = await foldLog(database, row.id)
  const charged = await listEntriesOf(db, { name: executionId })
  return {
    workspaceId,
    subject: executionId,
    traceId: row.trace_id,
    traceKey: trace?.trace_key ?? row.trace_id,
    actor: await describeActor(db, actor, row.agent_slug),
    what: {
      kind: 'execution',
      skill: { slug: row.skill_slug, version: row.skill_version, contentChecksum: row.bundle_checksum },
      run: row.workflow_run_id,
      models,
      toolCalls,
    },
    authority: [...(row.authority ?? [])],
    approvals: describeDecided(await listDecided(db, executionId)),
    costMilliDs: row.cost_milli_ds,
    ledger: charged.map(({ id }) => id),
    outputs: await describeOutputs(db, workspaceId, files),
    started: row.started_at,
    ended: row.completed_at,
    stopReason: row.error_code ?? row.stop_reason,
    log,
    redactions,
  }
}

/** Of a run of a workflow: its own steps. What it started has receipts of its own, in the same lineage. */
export async function factsOfRun(database: Database, runId: string): Promise<Facts | undefined> {
  const { db } = database
  const row = await findRunById(db, runId)
  if (!row || !hasRunEnded(row.status)) return undefined
  const actor = actorBehind(row)
  const steps = await listStepTexts(db, runId)
  const charged = await listEntriesOf(db, { namesBelow: runId })
  const hash = createHash('sha256')
  for (const { step_id, record } of steps) hash.update(`${step_id} ${record}\n`)
  return {
    workspaceId: actor.workspaceId,
    subject: runId,
    traceId: null,
    traceKey: traceKeyOfRun(runId),
    actor: await describeActor(db, actor, row.agent_slug),
    what: {
      kind: 'run',
      workflow: {
        slug: row.workflow_slug,
        definitionId: row.definition_id,
        definitionChecksum: row.definition_checksum,
      },
      steps: steps.map(({ step_id: id, status }) => ({ id, status })),
    },
    authority: [...(row.authority ?? [])],
    approvals: describeDecided(await listDecided(db, runId)),
    costMilliDs: charged.reduce((sum, { kind, amount }) => (kind === 'settle' ? sum + amount : sum), 0),
    ledger: charged.map(({ id }) => id),
    outputs: [],
    started: row.launched_at,
    ended: row.ended_at,
    stopReason: row.status,
    log: { events: steps.length, sha256: hash.digest('hex') },
    redactions: 0,
  }
}

async function foldLog(database: Database, executionRowId: number) {
  const fold = new LogFold()
  for (let after = 0; ; ) {
    const events = await listEvents(database, executionRowId, after, eventsAtOnce)
    for (const event of events) fold.add(event)
    const last = events.at(-1)
    if (!last) return fold.result
    after = last.sequence
  }
}

export async function describeActor(
  db: Db,
  { userId, apiKeyId, oauthGrantId }: Actor,
  agentSlug: string | null,
) {
  const keyPrefix = apiKeyId === null ? null : ((await findKeyPrefix(db, apiKeyId)) ?? null)
  return { userId, apiKeyId, keyPrefix, oauthGrantId, agentSlug }
}

/** An execution leaves one artifact. Of one that was deleted since only its name and size are known. */
async function describeOutputs(db: Db, workspaceId: string, files: readonly KeptFile[]) {
  const checksums = new Map<string, string>()
  for (const artifactId of new Set(files.map((file) => file.artifactId))) {
    const artifact = await findArtifact(db, workspaceId, artifactId)
    const kept = artifact ? await listBundleFiles(db, artifact.content_checksum) : []
    for (const { path, checksum } of kept) checksums.set(`${artifactId}:${path}`, checksum)
  }
  return files.map(({ path, sizeBytes, artifactId }) => {
    const checksum = checksums.get(`${artifactId}:${path}`) ?? null
    return { path, checksum, sizeBytes, artifactId }
  })
}
