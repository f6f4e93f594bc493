import type { Actor } from '#operations/actor.ts'
import { ApiError } from '#operations/errors.ts'
import { type ResumeInput, resumeRun } from './resume.ts'
import type { RunParts } from './run-parts.ts'
import * as store from './store.ts'

interface AnswerInInbox {
  readonly workspaceId: string
  readonly runId: string
  readonly key: string
  readonly data: unknown
  readonly by: Actor
  readonly keep: ResumeInput['keep']
}

/** What somebody says in the inbox to one certain question. */
export async function answerQuestion(
  parts: RunParts,
  { workspaceId, runId, key, data, by, keep }: AnswerInInbox,
): Promise<void> {
  const row = await store.findRun(parts.database.db, workspaceId, runId)
  if (!row) throw new ApiError('NOT_FOUND')
  try {
    await resumeRun(parts, row, { key, data, by, via: 'inbox', keep })
  } catch (error) {
    throw asDecision(error)
  }
}

/** The codes of the resume route are its own. */
function asDecision(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error
  if (error.code === 'RESUME_FAILED')
    return new ApiError('SERVICE_UNAVAILABLE', { cause: error, retryAfterSeconds: 1 })
  const message = 'This was answered already, or the run has ended'
  return error.status === 409 ? new ApiError('CONFLICT', { message, cause: error }) : error
}
