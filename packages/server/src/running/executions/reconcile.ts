import type { Database, Tx } from '#platform/database.ts'
import type { Reconciler } from '#platform/reconcile.ts'
import { sideBySide } from '#platform/side-by-side.ts'
import { dispatch, type ExecutionParts, end, startNext, tellWaiting } from './executions.ts'
import { neverBegan } from './lifecycle.ts'
import * as listStore from './list-store.ts'
import { claimTryAgain, type Due, listDue, listUnclaimed, lockDue } from './reconcile-store.ts'
import * as store from './store.ts'

const atMost = 100
const atOnce = 10
const dispatchAgainSeconds = 2
/** Somebody who holds an account or a slot keeps one ending for so long, and the others not at all. */
const lockWithinMs = 2000

/**
 * What every process does about once a second, so that no execution is left behind by the death of any other: those whose
 * worker is silent or whose time is over are ended, those that nobody took are offered again, steps that wait are told,
 * and queues go on. Each has a pace of its own. The endings ask nobody but the database; the others may wait for the
 * engine.
 */
export function executionReconcilers(parts: ExecutionParts): Reconciler[] {
  const { db } = parts.database
  const leases = new Leases(parts.database)
  return [
    {
      name: 'endings of executions',
      run: async () => {
        const lapsed = leases.choose(await listDue(db, 'lapsed', atMost))
        await sideBySide(
          lapsed,
          atOnce,
          async (id) => leases.note(id, await endLapsed(parts, id)),
          warn(parts),
        )
        for (const due of ['overdue', 'forgotten'] as const) {
          const ids = await listDue(db, due, atMost)
          await sideBySide(ids, atOnce, (id) => endDue(parts, id, due), warn(parts))
        }
      },
    },
    {
      name: 'offers of executions',
      run: async () => {
        const unclaimed = await listUnclaimed(db, dispatchAgainSeconds, atMost)
        await sideBySide(unclaimed, atOnce, (row) => dispatch(parts, row))
      },
    },
    {
      name: 'word of executions',
      run: async () =>
        sideBySide(await listStore.listAwaited(db, atMost), atOnce, (row) => tellWaiting(parts, row)),
    },
    {
      name: 'queues of executions',
      run: async () =>
        sideBySide(await listStore.listStuckQueues(db, atMost), atOnce, (workspaceId) =>
          startNext(parts, workspaceId),
        ),
    },
  ]
}

function warn({ logger }: ExecutionParts) {
  return (error: unknown, id: number) => logger.warn({ err: error, id }, 'an execution was not ended yet')
}

/** Whoever had it before it came to anything is given up, and another worker may try; otherwise it ends. */
async function endLapsed(parts: ExecutionParts, id: number): Promise<store.ExecutionRow | undefined> {
  const tryAgain = async (tx: Tx) => (await lockDue(tx, id, 'lapsed')) && claimTryAgain(tx, id)
  const row = await parts.database.transaction(tryAgain, { lockWithinMs })
  if (row) void dispatch(parts, row).catch(() => {})
  return row ?? endDue(parts, id, 'lapsed')
}

/** The row as it was; undefined when somebody holds it at this moment, or it is not due any more. */
async function endDue(parts: ExecutionParts, id: number, due: Due): Promise<store.ExecutionRow | undefined> {
  const row = await store.findExecutionById(parts.database.db, id)
  // A worker that had it is gone with its sandbox; without one, none ever came.
  const lost = row?.worker_id ? 'SANDBOX_LOST' : neverBegan
  const code = { lapsed: lost, overdue: 'EXECUTION_TIMEOUT', forgotten: 'EXECUTION_EXPIRED' }[due]
  const ending = { status: 'failed', stopReason: 'error', code } as const
  return (await end(parts, id, ending, { due, lockWithinMs })).row
}

/** Longer than a worker needs to renew, once it can: see `renewEveryMs` and `lookEveryMs` of the runner. */
const graceMs = 5000

/**
 * Which leases may be called lapsed. A worker that could not renew, because the database was away or somebody held the
 * row, gets a fair chance to do so first. So does everybody when it was this process that stood still.
 */
class Leases {
  readonly #database: Database
  readonly #heldAt = new Map<number, number>()

  constructor(database: Database) {
    this.#database = database
  }

  choose(ids: readonly number[]): number[] {
    for (const id of this.#heldAt.keys()) if (!ids.includes(id)) this.#heldAt.delete(id)
    if (this.#database.steadyMs < graceMs) return []
    const now = performance.now()
    return ids.filter((id) => now - (this.#heldAt.get(id) ?? Number.NEGATIVE_INFINITY) >= graceMs)
  }

  note(id: number, row: store.ExecutionRow | undefined): void {
    if (!row) this.#heldAt.set(id, performance.now())
  }
}
