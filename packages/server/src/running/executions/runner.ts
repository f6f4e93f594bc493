import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { executionTimeoutSeconds, type NewExecutionEvent, toDs } from '@guildhall/contract'
import { findReservation } from '#accounts/billing/billing.ts'
import {
  type BundleFile,
  chooseForBundle,
  createArtifact,
  isQuotaExceeded,
  newArtifactId,
  readBundle,
  requireArtifactRoom,
  type StoredBundle,
  storeForWorkspace,
  toBundle,
} from '#library/artifacts/artifacts.ts'
import type { Usage } from '#machinery/loop/loop.ts'
import { findFallbackKey, findProviderKey, ModelError, type Models } from '#machinery/models/models.ts'
import { type Sandbox, type SandboxDriver, SandboxError } from '#machinery/sandbox/sandbox.ts'
import { isPassing } from '#platform/database-errors.ts'
import type { Deps } from '#platform/deps.ts'
import { mediaTypeOf } from '#platform/media-type.ts'
import { retry } from '#platform/retry.ts'
import type { TraceParts } from '#running/traces/traces.ts'
import { LogFault } from '#streams/streams.ts'
import { type AgentOutcome, runAgent } from './agent-loop.ts'
import { type Carried, readCarried } from './carry-on.ts'
import { EventWriter } from './event-log.ts'
import { type ExecutionParts, end, endChannel, goneChannel } from './executions.ts'
import { type Ending, timedOutCode } from './lifecycle.ts'
import * as listStore from './list-store.ts'
import * as store from './store.ts'
import { UsageWriter } from './usage-writer.ts'

export interface RunnerParts extends ExecutionParts {
  storage: Deps['storage']
  traces: TraceParts
  models: Models
  sandboxes: SandboxDriver
}

const renewEveryMs = 5000
const lookEveryMs = 1000
/** Nothing can be spent meanwhile; after that it is likelier that this process is cut off than that all are. */
const withoutDatabaseMs = 5 * 60_000
const mostRefusals = 40

/**
 * Executions in this worker. The engine calls `run` for each; the work itself does not hang on that call, because the
 * engine may be restarted in the middle of it. Called again for one that this process works on, it waits for that; for
 * one that another process holds there is nothing to do. A worker that loses its lease, or sees the row ended, stops at
 * once and writes nothing more: the row's attempt number shuts the log to it.
 */
export class Runner {
  readonly #parts: RunnerParts
  /** Tells an operator which process has or had an execution; the last part, that no earlier one had this name. */
  readonly #workerId = `${hostname()}/${process.pid}/${randomUUID()}`
  readonly #running = new Map<number, Promise<void>>()
  readonly #stop = new AbortController()

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  run(executionRowId: number): Promise<void> {
    const already = this.#running.get(executionRowId)
    if (already) return already
    // In the list before the first wait: a second call in this process must find it.
    const work = this.#take(executionRowId).finally(() => this.#running.delete(executionRowId))
    this.#running.set(executionRowId, work)
    return work
  }

  async #take(executionRowId: number): Promise<void> {
    const row = await store.claimWork(this.#parts.database.db, executionRowId, this.#workerId)
    // Otherwise somebody else has it, or nobody needs to. The reconcilers of every process end it if that one dies.
    if (row) await this.#work(row)
  }

  /** Whether some worker may still need a sandbox: for its execution, or as the trial of one that starts beside this. */
  async isAlive(sandboxId: string): Promise<boolean> {
    const [, uuid] = /^exec-(.+)-\d+$/.exec(sandboxId) ?? []
    if (uuid === undefined) return true
    return (await store.findWorking(this.#parts.database.db, `exec_${uuid}`)) !== undefined
  }

  /** What still runs after the drain ends as lost. */
  async close(drainMs: number): Promise<void> {
    const timer = setTimeout(() => this.#stop.abort(new Error('the worker stops')), drainMs)
    await Promise.allSettled(this.#running.values())
    clearTimeout(timer)
  }

  async #work(row: store.ExecutionRow): Promise<void> {
    const { logger } = this.#parts
    const ended = new AbortController()
    const writer = new EventWriter(this.#parts, { id: row.id, attempt: row.attempt })
    const timeout = AbortSignal.timeout(executionTimeoutSeconds * 1000)
    const signal = AbortSignal.any([ended.signal, writer.lost, timeout, this.#stop.signal])
    const watching = this.#watch(row, ended)
    let sandbox: Sandbox | undefined
    let outcome: AgentOutcome | undefined
    let isLeft = false
    let ending: Ending
    try {
      const material = await persistently(signal, () => this.#readMaterial(row))
      sandbox = await this.#createSandbox(row, material, signal)
      // What is given now is written last: it counts, should an earlier file have the same name.
      for (const { path, bytes } of [...(material.carried?.files ?? []), ...material.attached])
        await sandbox.writeFile(path, bytes)
      outcome = await this.#runAgent(row, material, sandbox, writer, signal)
      await this.#keepOutput(row, material, sandbox, writer, signal)
      await writer.flush()
      writer.lost.throwIfAborted()
      ending = endingOf(outcome)
    } catch (error) {
      isLeft = error instanceof SandboxError && error.reason === 'left'
      // What was broken off because the log failed says anything; the log's own fault is the reason.
      const reason = writer.lost.reason instanceof LogFault ? writer.lost.reason : error
      ending = explain(reason, { timedOut: timeout.aborted, summary: outcome?.summary })
      const isNews = !signal.aborted || reason instanceof LogFault
      if (isNews) logger.warn({ err: reason, execution: row.execution_id }, 'an execution failed')
    }
    await writer.flush()
    const gone = sandbox ? await sandbox.destroy().catch(() => false) : !isLeft
    // In the row's own transaction; when it was canceled, or is another attempt's, nothing changes.
    await this.#persist(() => end(this.#parts, row.id, ending, { attempt: row.attempt }), row)
    if (gone) await this.#tellGone(row)
    ended.abort()
    await watching
  }

  async #tellGone(row: store.ExecutionRow): Promise<void> {
    await this.#persist(() => store.updateProcessGone(this.#parts.database.db, row.id, this.#workerId), row)
    this.#parts.bus.wake(goneChannel(row.id))
  }

  /** While the database is away, or the row is held, there is nothing better to do than to wait. */
  async #persist(write: () => Promise<unknown>, row: store.ExecutionRow): Promise<void> {
    const begun = performance.now()
    let refusals = 0
    try {
      await retry(write, (error) => {
        if (!isPassing(error)) refusals++
        const isEnough = refusals === mostRefusals || performance.now() - begun > withoutDatabaseMs
        return isEnough ? undefined : tryAgainMs
      })
    } catch (error) {
      this.#parts.logger.error({ err: error, execution: row.execution_id }, 'the end was not recorded')
    }
  }

  /** Renews the lease, and notices when the execution is no longer ours: told over Redis, or by looking every second. */
  async #watch(row: store.ExecutionRow, ended: AbortController): Promise<void> {
    const { database, bus } = this.#parts
    let renewedAt = performance.now()
    let renewal = renewedAt
    while (!ended.signal.aborted) {
      const word = bus.wait(endChannel(row.id), ended.signal, lookEveryMs)
      try {
        const due = performance.now() - renewal >= renewEveryMs
        const mine = due
          ? (await store.updateLease(database.db, row.id, row.attempt)) !== undefined
          : (await listStore.listEndedOf(database.db, [row.id])).length === 0
        if (!mine) return ended.abort(new Error('the execution has ended'))
        if (due) renewal = performance.now()
        renewedAt = performance.now()
      } catch {
        // Until the database says otherwise the work is ours: nobody calls a lease lapsed that could not be renewed.
        if (performance.now() - renewedAt > withoutDatabaseMs) {
          return ended.abort(new Error('the database was away for too long'))
        }
      }
      await word
    }
  }

  async #readMaterial(row: store.ExecutionRow): Promise<Material> {
    const { bundle_checksum, attachments_checksum } = row
    const skill = await readBundle(this.#parts, bundle_checksum)
    const attached = attachments_checksum === null ? [] : await readBundle(this.#parts, attachments_checksum)
    return { skill, attached, carried: await readCarried(this.#parts, row) }
  }

  /** Nothing else is done here: what is made is known to `#work` from then on, which destroys it whatever fails. */
  #createSandbox(row: store.ExecutionRow, { skill }: Material, signal: AbortSignal): Promise<Sandbox> {
    const { sandboxes, config } = this.#parts
    const spec = {
      id: `${row.execution_id}-${row.attempt}`.replaceAll('_', '-'),
      skillFiles: skill.map(({ path, bytes }) => ({ path, bytes, executable: isScript(bytes) })),
      limits: config.sandbox.limits,
      env: {},
    }
    return sandboxes.create(spec, signal)
  }

  async #runAgent(
    row: store.ExecutionRow,
    { skill, attached, carried }: Material,
    sandbox: Sandbox,
    writer: EventWriter,
    signal: AbortSignal,
  ): Promise<AgentOutcome> {
    const { database, models, config } = this.#parts
    const { provider } = models.find(undefined)
    const used = new UsageWriter(database.db, row, (write) => patiently(signal, write))
    return runAgent({
      models,
      model: undefined,
      providerKey: await patiently(signal, () =>
        findProviderKey(database.db, config.encryptionKeys, row.user_id, provider),
      ),
      fallbackKey: (model) =>
        patiently(signal, () => findFallbackKey(database.db, config.encryptionKeys, row.user_id, model)),
      sandbox,
      instructions: textOf(skill, 'SKILL.md'),
      input: row.input_text,
      attachments: attached.map(({ path }) => path),
      carried: carried?.files.map(({ path }) => path),
      budget: async () =>
        (await patiently(signal, () => findReservation(database.db, row.execution_id))) ?? nothing,
      signal,
      tell: (event: NewExecutionEvent) => writer.write(event),
      tellDelta: (text) => writer.delta(text),
      progress: used.progress,
      spend: async (usage) => {
        await used.spend(usage)
        this.#tellSpent(row, usage)
      },
    })
  }

  #tellSpent(row: store.ExecutionRow, usage: Usage): void {
    this.#parts.bus.publish({
      type: 'execution-progress',
      workspaceId: row.workspace_id,
      executionId: row.execution_id,
      skillSlug: row.skill_slug,
      cost: toDs(usage.costMilliDs),
    })
  }

  /** What is in the workspace becomes an artifact, and each file of it a block. */
  async #keepOutput(
    row: store.ExecutionRow,
    { attached, carried }: Material,
    sandbox: Sandbox,
    writer: EventWriter,
    signal: AbortSignal,
  ): Promise<void> {
    const collected = await sandbox.collect({ maxFiles: 500, maxBytes: 10_000_000 })
    const { taken, odd } = chooseForBundle(collected.files)
    const leftOut = [...collected.leftOut, ...odd]
    if (leftOut.length > 0) {
      const paths = leftOut.slice(0, 50)
      const others = collected.others + leftOut.length - paths.length
      const payload = { kind: 'files-left-out', paths, ...(others > 0 && { others }) } as const
      writer.write({ type: 'agent.info', payload })
    }
    const made = taken
      .map(({ path, bytes }) => ({ path, bytes: Buffer.from(bytes) }))
      .filter((file) => !isUnchanged(file, [...attached, ...(carried ? [carried.brief] : [])]))
    if (made.length === 0) return
    const bundle = toBundle('file', made)
    const owner = { workspaceId: row.workspace_id, userId: row.user_id, apiKeyId: row.api_key_id }
    // One name for all tries: of one whose answer was lost the artifact may be there.
    const id = newArtifactId()
    const about = {
      id,
      slug: row.skill_slug,
      name: `Output of ${row.skill_name}`,
      description: '',
      outputOfKey: row.api_key_id,
    }
    let files: StoredBundle | undefined
    const stored = await persistently(signal, async () => {
      const { config, database } = this.#parts
      await requireArtifactRoom(database.db, config, row.workspace_id, bundle)
      files ??= await storeForWorkspace(this.#parts, row.workspace_id, bundle)
      const written = files
      await database.transaction((tx) =>
        createArtifact(tx, config, owner, { type: 'file', ...about }, written),
      )
      return written
    })
    for (const { path, sizeBytes } of stored.files) {
      writer.write({
        type: 'agent.info',
        payload: {
          kind: 'file',
          name: path,
          mimeType: mediaTypeOf(path) ?? 'application/octet-stream',
          sizeBytes,
          artifactId: id,
          url: `/api/v1/artifacts/${id}/content?path=${encodeURIComponent(path)}`,
        },
      })
    }
  }
}

/** What was asked for could not be read, or what was done could not be kept. */
class StorageFault extends Error {
  override name = 'StorageFault'

  constructor(cause: unknown) {
    super('what belongs to a run could not be read or kept', { cause })
  }
}

function explain(
  error: unknown,
  { timedOut, summary }: { timedOut: boolean; summary?: string | undefined },
): Ending {
  const failed = {
    status: 'failed',
    stopReason: 'error',
    ...(summary === undefined ? {} : { summary }),
  } as const
  if (error instanceof StorageFault || error instanceof LogFault) {
    return { ...failed, code: 'STORAGE_UNAVAILABLE', free: true }
  }
  if (timedOut) return { ...failed, code: timedOutCode }
  if (error instanceof ModelError) return { ...failed, code: 'MODEL_FAILED' }
  // Charged like any other end: a workspace that is full would run for nothing otherwise.
  if (isQuotaExceeded(error)) return { ...failed, code: 'QUOTA_EXCEEDED' }
  return { ...failed, code: 'SANDBOX_LOST' }
}

const nothing = { amountMilliDs: 0, limitedBy: 'max_cost' } as const
const tryAgainMs = 250

/** A run does not end because the database was away for a moment, but when the signal says so: with its lease. */
function patiently<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  return retry(ask, (error) => (signal.aborted || !isPassing(error) ? undefined : tryAgainMs))
}

const persistMs = 15_000
const persistPauseMs = 500

/** What is done is not given up for a fault that may pass; after a while it is, as a fault of ours. */
function persistently<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + persistMs
  return retry(
    () => patiently(signal, act),
    (error) => {
      if (signal.aborted || isQuotaExceeded(error)) return undefined
      if (performance.now() > deadline) throw new StorageFault(error)
      return persistPauseMs
    },
  )
}

interface Material {
  skill: readonly BundleFile[]
  attached: readonly BundleFile[]
  carried: Carried | undefined
}

function endingOf({ usage, summary, stopReason, code }: AgentOutcome): Ending {
  if (stopReason !== 'end_turn') {
    return { status: 'failed', stopReason, summary, ...(code === undefined ? {} : { code }) }
  }
  const { inputTokens, outputTokens, costMilliDs } = usage
  const result = { summary, cost: toDs(costMilliDs), tokenUsage: { inputTokens, outputTokens } }
  const events = [{ type: 'execution.result' as const, payload: result }]
  return { status: 'completed', stopReason, summary, events }
}

function isScript(bytes: Uint8Array): boolean {
  return bytes[0] === 0x23 && bytes[1] === 0x21
}

function textOf(files: readonly BundleFile[], path: string): string {
  return files.find((file) => file.path === path)?.bytes.toString() ?? ''
}

function isUnchanged(file: BundleFile, attached: readonly BundleFile[]): boolean {
  return attached.some(({ path, bytes }) => path === file.path && bytes.equals(file.bytes))
}
