import { randomUUID } from 'node:crypto'
import { announceApprovals, approvalUrl, closeQuestion, questionId } from '#access/approvals/approvals.ts'
import { forgetAnswersOf } from '#access/consent/consent.ts'
import { recordActivity } from '#accounts/activity/activity.ts'
import {
  findSuspension,
  type StepRecord,
  type Suspension,
  stepOf,
  suspensionsOf,
} from '#machinery/graph/graph.ts'
import type { Tool } from '#machinery/tools/tools.ts'
import { type Actor, isInPerson } from '#operations/actor.ts'
import { ApiError } from '#operations/errors.ts'
import type { Tx } from '#platform/database.ts'
import { announceRun } from './announce.ts'
import type { RunParts } from './run-parts.ts'
import { announceSettled, settleWithin } from './settle-questions.ts'
import * as store from './store.ts'

export interface ResumeInput {
  /** `step`, or `step.3` for an item of a foreach; may be left out when only one step waits. */
  readonly stepId?: string | undefined
  /** The one question that is meant, instead of whatever its step asks now. */
  readonly key?: string
  readonly data: unknown
  /** What the answer costs whoever gives it, in the transaction that takes it. */
  readonly spend?: (tx: Tx) => Promise<void>
  /** Notes in the same transaction that the answer of this id was taken. */
  readonly keep?: ((tx: Tx, answerId: string) => Promise<void>) | undefined
  readonly by: Actor
  /** Where it was said. */
  readonly via: 'run' | 'inbox'
}

/**
 * Answers a question that a run waits for. Of all who answer one, the row lets one through; the engine is then told which
 * answer it was, and told again until it has taken it.
 */
export async function resumeRun(parts: RunParts, row: store.RunRow, input: ResumeInput): Promise<void> {
  requireSuspended(row)
  const { suspension, tool } = await findAsked(parts, row, input)
  const data = input.data ?? null
  requireAnswerer(parts, row, input.by, suspension, tool)
  requireAnswer(tool, suspension, data)
  const answer = { id: randomUUID(), key: suspension.key, data: JSON.stringify(data) }
  const tell = (tx: Tx, type: 'workflow.answered' | 'workflow.answer_withdrawn', more: object) => {
    const { stepId, index } = suspension
    const details = {
      requestId: questionId(row.run_id, answer.key),
      runId: row.run_id,
      stepId,
      index,
      ...more,
    }
    return recordActivity(tx, input.by, { type, workspaceId: row.workspace_id, details })
  }
  const { resumed, closed } = await parts.database.transaction(async (tx) => {
    const claimed = await store.claimResume(tx, row, answer, parts.config.runsPerWorkspace)
    if (!claimed) return { resumed: undefined }
    await input.spend?.(tx)
    const question = await closeQuestion(tx, input.by, row.run_id, answer.key, data)
    await tell(tx, 'workflow.answered', { decision: question.status, via: input.via })
    await input.keep?.(tx, answer.id)
    return { resumed: claimed, closed: question }
  })
  if (!resumed) throw await refusalNow(parts, row)
  announceRun(parts, resumed)
  await announceApprovals(parts, { kind: 'workflow', workspaceId: row.workspace_id, ...closed })
  if (resumed.queued_at !== null) return
  try {
    await parts.engine.answerRun(row.run_id, { key: answer.key, resumeId: answer.id })
  } catch (error) {
    // Neither taken nor known to be taken back, the answer stands: a reconciler sends it to the engine again.
    const withdrawn = (tx: Tx) => tell(tx, 'workflow.answer_withdrawn', { because: 'engine_away' })
    const { takenBack, settled } =
      (await takeBack(parts, row.run_id, answer.id, withdrawn).catch(() => undefined)) ?? {}
    if (!takenBack) return
    await announceSettled(parts, settled)
    announceRun(parts, { ...resumed, status: 'suspended' })
    throw new ApiError('RESUME_FAILED', { cause: error })
  }
}

/** With its question, which is asked again, and with the record of the request: whoever repeats it answers anew. */
function takeBack(
  { database }: RunParts,
  runId: string,
  resumeId: string,
  withdrawn: (tx: Tx) => Promise<void>,
) {
  return database.transaction(async (tx) => {
    const takenBack = await store.claimResumeBack(tx, runId, resumeId)
    if (!takenBack) return {}
    await forgetAnswersOf(tx, [resumeId])
    await withdrawn(tx)
    return { takenBack, settled: await settleWithin(tx, runId) }
  })
}

function requireSuspended({ status, resume_id, resume_taken_at }: store.RunRow): void {
  if (status === 'suspended') return
  if (status !== 'running') {
    const error = `Workflow run is already ${status}`
    throw new ApiError('NOT_SUSPENDED', {
      message: error,
      beside: { cancelled: true, error, code: 'NOT_SUSPENDED' },
    })
  }
  throw new ApiError(resume_id !== null && resume_taken_at === null ? 'RESUME_IN_PROGRESS' : 'NOT_SUSPENDED')
}

/** For whoever came second: another answer was let through, or the run was canceled meanwhile. */
async function refusalNow(parts: RunParts, { run_id }: store.RunRow): Promise<ApiError> {
  const row = await store.findRunById(parts.database.db, run_id)
  if (row?.status === 'canceled') requireSuspended(row)
  return new ApiError('RESUME_IN_PROGRESS')
}

async function findAsked(
  parts: RunParts,
  row: store.RunRow,
  { stepId, key }: ResumeInput,
): Promise<{ suspension: Suspension; tool: Tool | undefined }> {
  const [workflow, steps] = await Promise.all([
    parts.definitions.find(row),
    store.listSteps(parts.database.db, row.run_id),
  ])
  const records = new Map(steps.map(({ step_id, record }) => [step_id, record as StepRecord]))
  const suspensions = workflow ? suspensionsOf(workflow, records) : []
  if (suspensions.length === 0) {
    // Read after the row: an answer that came in between has closed the question.
    const now = await store.findRunById(parts.database.db, row.run_id)
    if (now?.version === row.version) throw new ApiError('NO_SUSPEND_FRAME')
    throw await refusalNow(parts, row)
  }
  const suspension =
    key === undefined ? findSuspension(suspensions, stepId) : suspensions.find((one) => one.key === key)
  if (workflow && suspension) {
    const toolId = stepOf(workflow, suspension.stepId)?.toolId
    return { suspension, tool: toolId === undefined ? undefined : parts.toolbox.find(toolId) }
  }
  const suspended = suspensions.map((one) => ({ stepId: one.stepId, index: one.index, payload: one.payload }))
  throw new ApiError('STEP_MISMATCH', { details: { suspended } })
}

/** A question to people is theirs to answer, whatever else an agent may do. */
function requireAnswerer(
  { config }: RunParts,
  row: store.RunRow,
  by: Actor,
  { key, payload }: Suspension,
  tool: Tool | undefined,
): void {
  if (isInPerson(by) || tool?.isForAgents?.(payload)) return
  const id = questionId(row.run_id, key)
  throw new ApiError('FORBIDDEN', {
    message: 'This is for a person to answer: show them details.approval_url, and wait',
    details: { approval_id: id, approval_url: approvalUrl(config, id) },
  })
}

/** The run stays suspended when the answer is not one that the tool takes. */
function requireAnswer(tool: Tool | undefined, { payload }: Suspension, data: unknown): void {
  const problems = tool?.checkAnswer?.(data, payload) ?? []
  const [first] = problems
  if (first === undefined) return
  throw new ApiError('INVALID_INPUT', {
    message: first,
    details: { issues: problems.map((message) => ({ path: 'resumeData', message })) },
  })
}
