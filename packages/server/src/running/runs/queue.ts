import { announceRun } from './announce.ts'
import type { RunParts } from './run-parts.ts'
import * as store from './store.ts'

/**
 * Gives free places of a workspace to the runs that have waited longest. A run is off the queue before the engine has
 * word of it, and a reconciler repeats the word if it never got there: the engine takes one run of an id, and a run takes
 * one answer to a question.
 */
export async function handOver(parts: RunParts, workspaceId: string): Promise<void> {
  const { database, config, logger } = parts
  const failed = (error: unknown) =>
    logger.warn({ err: error, workspaceId }, 'a waiting run was not handed over yet')
  const told: Promise<unknown>[] = []
  try {
    for (;;) {
      const runId = await store.claimQueued(database.db, workspaceId, config.runsPerWorkspace)
      const row = runId === undefined ? undefined : await store.findRunById(database.db, runId)
      if (!row) break
      announceRun(parts, row)
      told.push(tellEngine(parts, row).catch(failed))
    }
  } catch (error) {
    failed(error)
  }
  await Promise.all(told)
}

async function tellEngine(parts: RunParts, { run_id, resume_id: resumeId, resume_key: key }: store.RunRow) {
  if (resumeId !== null && key !== null) await parts.engine.answerRun(run_id, { key, resumeId })
  else await sendRun(parts, run_id)
}

/**
 * Lets a launch wait for a place, if there is an engine to wait for. Undefined when it waits no longer, because its turn
 * came meanwhile.
 */
export async function queueRun(parts: RunParts, runId: string) {
  if (!(await parts.engine.isAnswering())) throw new Error('the engine does not answer')
  return store.claimWaiting(parts.database.db, runId)
}

/** Has the engine drive a run; asking twice is asking once. Gives the row, undefined when it is void. */
export async function sendRun(parts: RunParts, runId: string) {
  const invocationId = await parts.engine.launchRun(runId)
  return store.claimLaunched(parts.database.db, runId, invocationId)
}
