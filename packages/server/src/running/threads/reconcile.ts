import type { Reconciler } from '#platform/reconcile.ts'
import { sideBySide } from '#platform/side-by-side.ts'
import { interruptExecution } from '#running/executions/executions.ts'
import {
  endRunById,
  handOver,
  interruptRun,
  startQueued,
  type ThreadParts,
  tellStep,
  wakeRunById,
} from './changes.ts'
import type { Ending } from './lifecycle.ts'
import * as listStore from './list-store.ts'
import { listWaitsOver, listWithPlace } from './wait-store.ts'

const atMost = 200
const atOnce = 10
/** Many may be decided at once. */
const mostWoken = 1000
const sendAgainSeconds = 2
/** An engine that lost its disk has forgotten the call. */
const silentSeconds = 15 * 60
const untakenSeconds = 10 * 60

/** What every process does about once a second, so that no run is left behind by the death of any other. */
export function threadReconcilers(parts: ThreadParts): Reconciler[] {
  const { db } = parts.database
  const warn = (error: unknown) => parts.logger.warn({ err: error }, 'a run of a chat was not brought on yet')
  return [
    {
      name: 'offers of chats',
      run: async () => {
        const unsent = await listStore.listUnsent(db, sendAgainSeconds, atMost)
        const silent = await listStore.claimSilent(db, silentSeconds, atMost)
        await sideBySide([...unsent, ...silent], atOnce, (run) => handOver(parts, run))
      },
    },
    {
      name: 'queues of chats',
      run: async () => {
        const stuck = await listStore.listStuckQueues(db, parts.config.chatRunsPerWorkspace, atMost)
        await sideBySide(stuck, atOnce, (id) => startQueued(parts, id), warn)
      },
    },
    {
      name: 'ends of chats',
      run: async () => {
        const overdue = await listStore.listOverdue(db, untakenSeconds, atMost)
        await sideBySide(
          overdue,
          atOnce,
          (run) => {
            const ending = run.worker_id === null ? untaken : timedOut
            const only = { segment: run.segment, worker: run.worker_id }
            return endRunById(
              parts,
              run,
              ending,
              (now) =>
                now.status === 'working' && now.segment === only.segment && now.worker_id === only.worker,
            )
          },
          warn,
        )
      },
    },
    {
      name: 'asked agents',
      run: async () => {
        const orphaned = await listStore.listOrphaned(db, atMost)
        await sideBySide(orphaned, atOnce, (run) => interruptRun(parts, run), warn)
        const left = await listStore.listLeftExecutions(db, atMost)
        await sideBySide(left, atOnce, (id) => interruptExecution(parts, id), warn)
      },
    },
    {
      name: 'waits of chats',
      run: async () => {
        const places = parts.config.chatRunsPerWorkspace
        const over = [
          ...(await listWithPlace(db, { places, limit: mostWoken })),
          ...(await listWaitsOver(db, mostWoken)),
        ]
        await sideBySide(over, atOnce, (id) => wakeRunById(parts, id), warn)
      },
    },
    {
      name: 'word of chats',
      run: async () =>
        sideBySide(await listStore.listAwaited(db, atMost), atOnce, (run) => tellStep(parts, run)),
    },
  ]
}

const untaken: Ending = {
  status: 'failed',
  stopReason: 'error',
  code: 'NO_WORKER',
  message: 'No worker was there for ten minutes; send the message again later',
}

const timedOut: Ending = {
  status: 'failed',
  stopReason: 'error',
  code: 'RUN_TIMEOUT',
  message: 'The run took longer than a run may; ask for less at a time',
}
