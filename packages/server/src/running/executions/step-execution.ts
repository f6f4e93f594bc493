import type { LiveSkill } from '#library/skills/skills.ts'
import type { Actor } from '#operations/actor.ts'
import type { Authority } from '#operations/authority.ts'
import { ApiError } from '#operations/errors.ts'
import type { Database, Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import type { OutputBlock } from './blocks.ts'
import { prepareExecution } from './create.ts'
import { readBlocks } from './event-log.ts'
import { type Changed, startExecution } from './lifecycle.ts'
import * as store from './store.ts'

export interface StepExecutionInput {
  readonly workspaceId: string
  readonly userId: string
  readonly skill: LiveSkill
  readonly input: string
  readonly step: { runId: string; key: string; awakeableId: string }
  /**
   * Asked in the transaction that starts it: through what the run was started, undefined for one that was canceled.
   * Throws when whoever started the run may not start anything any more.
   */
  admit(tx: Tx): Promise<Admitted | undefined>
}

/** What the run is allowed by, which is what allows the step. */
interface Admitted extends Pick<Actor, 'apiKeyId' | 'oauthGrantId'> {
  readonly allowedOnce: boolean
  readonly authority: Authority
  readonly agentSlug: string | null
}

const tries = 5

/** Starts or queues it; the row alone when an earlier try of the step did so, nothing when it is no longer wanted. */
export async function startForStep(
  { database, config }: Pick<Deps, 'database' | 'config'>,
  given: StepExecutionInput,
): Promise<{ row: store.ExecutionRow; changed?: Changed } | undefined> {
  const found = await store.findByStepKey(database.db, given.workspaceId, given.step)
  if (found) return { row: found }
  const start = () =>
    database.transaction(async (tx) => {
      const admitted = await given.admit(tx)
      if (!admitted) return undefined
      const { allowedOnce, authority, apiKeyId, oauthGrantId, agentSlug } = admitted
      const { workspaceId, userId, input, step } = given
      const by = { workspaceId, userId, apiKeyId, oauthGrantId }
      const prepared = { input, step, source: 'workflow', agentSlug }
      const row = await prepareExecution(tx, config, by, given.skill, prepared)
      const contents = [[{ type: 'text' as const, text: input }]]
      const start = {
        text: input,
        contents,
        ifBusy: 'queue',
        maxCostMilliDs: null,
        by,
        authority,
        allowedOnce,
        agentSlug,
      } as const
      return startExecution(tx, config, row, start)
    })
  const changed = await whileBusy(start)
  return changed && { row: changed.row, changed }
}

/** Finds the slot free and then taken, at worst, by several others one after the other. */
async function whileBusy(start: () => Promise<Changed | undefined>): Promise<Changed | undefined> {
  for (let tried = 1; ; tried++) {
    try {
      return await start()
    } catch (error) {
      const isBusy = error instanceof ApiError && error.code === 'EXECUTION_RUNNING'
      if (!isBusy || tried === tries) throw error
    }
  }
}

/** What came of it; undefined when it is gone. */
export async function readStepExecution(
  database: Database,
  id: number,
): Promise<{ row: store.ExecutionRow; blocks: readonly OutputBlock[] } | undefined> {
  const row = await store.findExecutionById(database.db, id)
  if (!row) return undefined
  return { row, blocks: await readBlocks(database, id) }
}
