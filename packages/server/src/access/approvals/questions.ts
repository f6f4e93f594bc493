import { createHash } from 'node:crypto'
import { noteDecider } from '#access/activation/activation.ts'
import { jsonBytes } from '#machinery/graph/graph.ts'
import type { Actor, Doer } from '#operations/actor.ts'
import { ApiError } from '#operations/errors.ts'
import type { Tx } from '#platform/database.ts'
import { clipJson } from './clip.ts'
import type { Decision, ForwardedKind } from './kinds.ts'
import * as questionStore from './question-store.ts'
import * as store from './store.ts'

/** A step of a run that waits for a person. */
export interface Question {
  readonly workflowId: string
  readonly stepId: string
  readonly index: number
  /** Unlike that of any other question of the run. */
  readonly key: string
  readonly payload: unknown
  /** Of the whole, when only the beginning is kept here. */
  readonly payloadBytes?: number
}

interface AskingRun {
  readonly runId: string
  readonly workspaceId: string
  readonly userId: string
  readonly apiKeyId: number | null
}

/** What runs may have open in an inbox, and how much of what each asks is shown there; the whole is in the run. */
const questionLimits = { ofRun: 20, ofWorkspaceAndKey: 200, shownBytes: 32 * 1024 }

interface Recorded {
  /** The ids of those that are new or open again. */
  readonly asked: string[]
  /** Whether the others of its workspace and key leave no room for some. Those beyond its own number it asks later itself. */
  readonly isHeldBack: boolean
}

/**
 * Puts the questions of a suspended run into the inbox of everybody in its workspace, the first of them first; those that
 * are there already stay, and one that was closed by an answer that was taken back is open again. Hold the run's row, so
 * that it is not canceled meanwhile.
 */
export async function recordQuestions(
  tx: Tx,
  { runId, workspaceId, userId, apiKeyId }: AskingRun,
  questions: readonly Question[],
): Promise<Recorded> {
  const open = new Set(questions.length === 0 ? [] : await questionStore.listOpen(tx, runId))
  const closed = questions.filter(({ key }) => !open.has(questionId(runId, key)))
  const wanted = closed.slice(0, Math.max(0, questionLimits.ofRun - open.size))
  if (wanted.length === 0) return { asked: [], isHeldBack: false }
  const taken = await questionStore.countAsked(tx, workspaceId, apiKeyId)
  const fitting = wanted.slice(0, Math.max(0, questionLimits.ofWorkspaceAndKey - taken))
  const rows = fitting.map((question) => ({
    id: questionId(runId, question.key),
    kind: 'workflow' as const,
    key_id: apiKeyId,
    user_id: userId,
    workspace_id: workspaceId,
    subject: runId,
    question: JSON.stringify({ ...question, ...shownOf(question.payload) }),
  }))
  const isHeldBack = rows.length < wanted.length
  if (rows.length === 0) return { asked: [], isHeldBack }
  const added = await store.insertRequests(tx, rows)
  const others = rows.map(({ id }) => id).filter((id) => !added.includes(id))
  const reopened = others.length === 0 ? [] : await store.updateReopened(tx, others)
  return { asked: [...added, ...reopened], isHeldBack }
}

function shownOf(payload: unknown): Pick<Question, 'payload' | 'payloadBytes'> {
  const payloadBytes = jsonBytes(payload)
  if (payloadBytes <= questionLimits.shownBytes) return { payload }
  return { payload: clipJson(payload, questionLimits.shownBytes), payloadBytes }
}

/** A question that was answered, in the transaction that takes the answer. */
export async function closeQuestion(tx: Tx, by: Doer, runId: string, key: string, answer: unknown) {
  const status = isRefusal(answer) ? 'denied' : 'granted'
  const decider = await noteDecider(tx, by)
  const note = { status, ...decider, decided_by_key: by.apiKeyId, decided_passkey: null } as const
  const closed = await store.claimDecision(tx, questionId(runId, key), note)
  return { ids: closed ? [closed.id] : [], status } as const
}

/** What a run asked and does not ask any more. Gives the ids. */
export async function dropQuestions(
  tx: Tx,
  runId: string,
  kept: readonly Pick<Question, 'key'>[] = [],
): Promise<string[]> {
  return store.updateWithdrawn(
    tx,
    'workflow',
    runId,
    kept.map(({ key }) => questionId(runId, key)),
  )
}

export function questionId(runId: string, key: string): string {
  return `workflow_${createHash('sha256').update(`${runId}:${key}`).digest('hex').slice(0, 40)}`
}

interface Answered {
  readonly workspaceId: string
  readonly runId: string
  /** Of the question; whatever else the run asks meanwhile stays open. */
  readonly key: string
  readonly data: unknown
  readonly by: Actor
  readonly keep: ((tx: Tx, answerId: string) => Promise<void>) | undefined
}

/** A step of a workflow. `answer` lets the run go on with what was said; it closes the question and tells who answered. */
export function workflowKind(answer: (answered: Answered) => Promise<void>): ForwardedKind {
  return {
    decidedBy: 'members',
    decidedOn: 'inbox',
    describe: ({ subject, question }) => {
      const { workflowId, stepId, index, payload, payloadBytes } = question as Question
      const runId = subject ?? ''
      const rest = payloadBytes !== undefined && {
        payloadBytes,
        payloadUrl: `/api/v1/workflows/runs/${runId}`,
      }
      return { workflow: { runId, workflowId, stepId, index, payload, ...rest } }
    },
    forward: async (by, { subject, workspace_id: workspaceId, question }, decision, note) => {
      const { key, payload } = question as Question
      const keep = note && ((tx: Tx, answerId: string) => note(tx, {}, answerId))
      await answer({ workspaceId, runId: subject ?? '', key, data: answerOf(payload, decision), by, keep })
    },
  }
}

/** A step that asks for leave is told no, which is data to it; one that asks anything else needs an answer. */
function answerOf(payload: unknown, decision: Decision): unknown {
  if (decision.status === 'granted') {
    const { resumeData } = decision.choice
    return resumeData === undefined && asksForLeave(payload) ? { approved: true } : resumeData
  }
  if (!asksForLeave(payload)) {
    const message = 'This step asks a question: approve it with resumeData, or cancel the run'
    throw new ApiError('INVALID_INPUT', { message })
  }
  return { approved: false, ...(decision.reason !== null && { note: decision.reason }) }
}

function asksForLeave(payload: unknown): boolean {
  return typeof payload === 'object' && payload !== null && 'kind' in payload && payload.kind === 'approval'
}

function isRefusal(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'approved' in answer && answer.approved === false
}
