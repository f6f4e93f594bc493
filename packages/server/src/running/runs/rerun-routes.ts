import { workflowRunRoutes } from '@guildhall/contract'
import {
  hasRunEnded,
  planRerun,
  type Reuse,
  type StepRecord,
  stepOf,
  type Workflow,
} from '#machinery/graph/graph.ts'
import type { Handlers } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import { createInOneStatement } from '#operations/idempotency/idempotency.ts'
import type { Db } from '#platform/database.ts'
import { launcherOf, launchFailed, requireRun } from './change-routes.ts'
import { confirmLaunch, prepareLaunch, requireFit } from './launch.ts'
import type { RunParts } from './run-parts.ts'
import * as store from './store.ts'

const { rerunWorkflowRun } = workflowRunRoutes
export const rerunRoutes = { rerunWorkflowRun }

/** A run of an earlier run's definition, which may be another one than is installed now. */
export function rerunHandlers(parts: RunParts): Handlers<typeof rerunRoutes> {
  return {
    rerunWorkflowRun: async (call) => {
      const { principal, params, body } = call
      const row = await requireRun(parts, principal, params.runId)
      const { status, workspace_id: workspaceId } = row
      if (!hasRunEnded(status)) {
        const message = `This run is ${status}; cancel it, or wait for its end, and rerun it then`
        throw new ApiError('CONFLICT', { message, details: { status } })
      }
      const definition = (await store.findDefinition(parts.database.db, row.definition_checksum)) ?? ''
      const inputs = body.inputs ?? row.inputs
      await requireFit(parts, workspaceId, definition, inputs)
      const plan = body.fromStep === undefined ? undefined : await planFrom(parts, row, inputs, body.fromStep)
      if (plan && principal.kind !== 'session') requireOwnAnswers(parts, row, plan)
      const reuse = plan?.reuse
      const input = { inputs, parentRunId: row.run_id, ...(reuse && { reuse }) }
      const runnable = { slug: row.workflow_slug, definitionId: row.definition_id, definition }
      try {
        const prepare = async (db: Db) => {
          const made = await prepareLaunch(db, parts, launcherOf(call), runnable, input)
          const { run_id: runId, workflow_id: workflowId } = made
          const reused = reuse?.records.map(({ stepId }) => stepId) ?? []
          const started = { runId, parentRunId: row.run_id, workflowId, status: 'started' as const, reused }
          return { resourceId: runId, answer: started }
        }
        return await createInOneStatement(call, prepare, ({ runId }) => confirmLaunch(parts, runId))
      } catch (error) {
        throw launchFailed(error)
      }
    },
  }
}

interface Plan {
  readonly workflow: Workflow
  readonly reuse: Reuse
}

async function planFrom(
  parts: RunParts,
  row: store.RunRow,
  inputs: unknown,
  fromStep: string,
): Promise<Plan> {
  const [workflow, steps] = await Promise.all([
    parts.definitions.find(row),
    store.listSteps(parts.database.db, row.run_id),
  ])
  const records = new Map(steps.map(({ step_id, record }) => [step_id, record as StepRecord]))
  const isThere = workflow?.entries.some((entry) => entry.steps.some(({ stepId }) => stepId === fromStep))
  if (!workflow || !isThere) {
    throw new ApiError('INVALID_INPUT', { message: `fromStep: this workflow has no step ${fromStep}` })
  }
  const reuse = planRerun(workflow, inputs, records, fromStep)
  if (reuse) return { workflow, reuse }
  const message = `A step before ${fromStep} did not succeed; rerun from that one, or from the start`
  throw new ApiError('CONFLICT', { message, details: { status: row.status } })
}

/** What a person allowed in one run is not allowed in the next one because an agent says so. */
function requireOwnAnswers({ toolbox }: RunParts, row: store.RunRow, { workflow, reuse }: Plan): void {
  const taken = reuse.records.find(({ stepId, record: { resumedAt, payload } }) => {
    if (resumedAt === undefined) return false
    const { toolId, isForAgents } = stepOf(workflow, stepId) ?? {}
    return toolId === undefined || !isForAgents || !toolbox.find(toolId)?.isForAgents?.(payload)
  })
  if (!taken) return
  const message = `A person answered ${taken.stepId} for the run before this one; rerun from it or from an earlier step, so that it is asked again`
  throw new ApiError('FORBIDDEN', { message, details: { stepId: taken.stepId, runId: row.run_id } })
}
