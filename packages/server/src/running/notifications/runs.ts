import { jsonBytes } from '#machinery/graph/graph.ts'
import { ExpiringCache } from '#platform/expiring-cache.ts'
import type { Reconciler } from '#platform/reconcile.ts'
import { sideBySide } from '#platform/side-by-side.ts'
import { findRunById, type RunChange } from '#running/runs/runs.ts'
import { findThreadNamed, listListening, type ThreadParts } from '#running/threads/threads.ts'
import { type Notice, tellThread } from './notify.ts'
import * as store from './store.ts'

const kinds = {
  success: { kind: 'workflow.completed', priority: 'medium', says: 'has completed' },
  failed: { kind: 'workflow.failed', priority: 'high', says: 'has failed' },
  suspended: { kind: 'workflow.suspended', priority: 'high', says: 'waits for an answer' },
  canceled: { kind: 'workflow.canceled', priority: 'low', says: 'was canceled' },
} as const

type ToldStatus = keyof typeof kinds
const isTold = (status: string): status is ToldStatus => Object.hasOwn(kinds, status)

const shownBytes = 4096
const mostThreads = 50
const atOnce = 4
const mostWaiting = 1000
const nobodyForMs = 1000
const tellAgainSeconds = 1
const atMost = 100

/**
 * Has threads hear of runs of workflows. The thread that a run was launched in is told for certain: what is due to it is
 * noted with the change of the run. Threads that somebody listens to hear of the other runs of their workspace too, if
 * nothing comes in between. A run waits for none of it.
 */
export class RunNotices {
  readonly #parts: ThreadParts
  readonly #nobody = new ExpiringCache<true>(10_000)
  #waiting = 0
  #turn: Promise<unknown>[] = Array.from({ length: atOnce }, () => Promise.resolve())
  #next = 0

  constructor(parts: ThreadParts) {
    this.#parts = parts
  }

  /** After the change of a run is committed. */
  hear(run: RunChange): void {
    if (!isTold(run.status)) return
    if (run.conversation_id !== null) void this.#quietly(() => this.tellDue(run.run_id))
    if (this.#nobody.get(run.workspace_id) || this.#waiting >= mostWaiting) return
    this.#waiting++
    const lane = this.#next++ % atOnce
    this.#turn[lane] = (this.#turn[lane] ?? Promise.resolve())
      .then(() => this.#quietly(() => this.#tellListening(run)))
      .finally(() => this.#waiting--)
  }

  /** What the thread of a run has not been told; by whoever comes first. */
  async tellDue(runId: string): Promise<void> {
    const { db } = this.#parts.database
    for (const due of await store.listDueOfRun(db, runId)) {
      const run = await findRunById(db, runId)
      const thread =
        run && run.conversation_id !== null
          ? await findThreadNamed(db, run.workspace_id, run.conversation_id)
          : undefined
      if (!run || !thread) await store.deleteDue(db, due)
      else
        await tellThread(
          this.#parts,
          thread.id,
          noticeOf(run, due.status as ToldStatus, due.revision),
          (tx) => store.deleteDue(tx, due),
        )
    }
  }

  get reconciler(): Reconciler {
    const { db } = this.#parts.database
    return {
      name: 'word to threads',
      run: async () => {
        const late = await store.listDueRuns(db, tellAgainSeconds, atMost)
        await sideBySide(late, atOnce, (runId) => this.#quietly(() => this.tellDue(runId)))
      },
    }
  }

  async #tellListening({ run_id, workspace_id }: RunChange): Promise<void> {
    const { db } = this.#parts.database
    const began = performance.now()
    const listening = await listListening(db, workspace_id, mostThreads)
    if (listening.length === 0) return this.#nobody.set(workspace_id, true, began, nobodyForMs)
    const run = await findRunById(db, run_id)
    if (!run || !isTold(run.status)) return
    const notice = noticeOf(run, run.status, run.pauses)
    await sideBySide(listening, 2, (id) => this.#quietly(() => tellThread(this.#parts, id, notice)))
  }

  async #quietly(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#parts.logger.warn({ err: error }, 'a thread was not told of a run yet')
    }
  }
}

type RunFacts = NonNullable<Awaited<ReturnType<typeof findRunById>>>

function noticeOf(run: RunFacts, status: ToldStatus, revision: number): Notice {
  const { run_id: runId, workflow_id: workflowId, workflow_slug: slug, result, error } = run
  const { kind, priority, says } = kinds[status]
  // A run may have gone on since.
  const isNow = run.status === status
  return {
    kind,
    source: 'workflow',
    priority,
    summary: `Workflow ${slug} ${says}.`,
    payload: {
      runId,
      workflowId,
      workflowSlug: slug,
      status,
      ...(isNow && status === 'success' && shown('result', result)),
      ...(isNow && status === 'failed' && shown('error', error)),
    },
    dedupeKey: `${runId}:${status}`,
    revision,
  }
}

/** Small values whole, larger ones not at all: the run has them. */
function shown(name: string, value: unknown): Record<string, unknown> {
  return value === null || value === undefined || jsonBytes(value) > shownBytes ? {} : { [name]: value }
}
