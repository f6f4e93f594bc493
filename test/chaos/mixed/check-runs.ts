import { isDeepStrictEqual } from 'node:util'
import { callsAfterLaterOnes } from '../step-calls.ts'
import type { RunState, Seen } from './evidence.ts'
import { type FaultRecord, isPausedCall, isRefusal, isSuccess, type Operation } from './history.ts'
import { resultOf, type WorkflowKind, workflowKinds } from './workflow-kinds.ts'

export function findRunViolations(
  operations: readonly Operation[],
  faults: readonly FaultRecord[],
  { state, calls }: Seen,
): string[] {
  const questions = new Set(state.openQuestions)
  const revoked = new Set(operations.filter(({ sort }) => sort === 'revoke-key').map(({ target }) => target))
  const failedSkills = new Set(
    state.executions.filter(({ status }) => status === 'failed').map(({ runId }) => runId),
  )
  const kinds = new Map(
    operations.flatMap(({ id, kind, attempts }) => attempts.map(({ told }) => [told, { id, kind }] as const)),
  )
  const resumes = new Map<string | null, Operation[]>()
  for (const operation of operations.filter(({ sort }) => sort === 'resume'))
    resumes.set(operation.target, [...(resumes.get(operation.target) ?? []), operation])
  return [
    ...state.runs.flatMap((run) =>
      [
        ...findRestViolations(run, questions),
        ...findFailureViolations(run, revoked.has(String(run.keyId)), failedSkills.has(run.runId)),
        ...findResultViolations(run, kinds.get(run.runId)),
        ...findAnswerViolations(run, resumes.get(run.runId) ?? []),
      ].map((violation) => `${run.runId} (${run.slug}): ${violation}`),
    ),
    ...callsAfterLaterOnes(calls)
      .filter(({ pid, at }) => !faults.some((fault) => isPausedCall(fault, pid, at)))
      .map(({ idempotencyKey, pid, at }) => `${idempotencyKey}: recorded, and done again by ${pid} at ${at}`),
  ]
}

/** When all is quiet a run has ended or waits for a person, and holds no place either way. */
function findRestViolations(run: RunState, questions: ReadonlySet<string>): string[] {
  const { status, advancing, queued, runId } = run
  const violations: string[] = []
  if (status === 'running' || status === 'launching')
    violations.push(`is still ${queued ? 'queued' : status}${advancing ? ', and has a place' : ''}`)
  else if (advancing) violations.push(`is ${status} and still has a place`)
  else if (queued) violations.push(`is ${status} and still waits for a place`)
  const asks = questions.has(runId)
  if (status === 'suspended' && !asks) violations.push('waits for an answer, and nobody is asked')
  if (status !== 'suspended' && asks) violations.push(`is ${status}, and somebody is still asked`)
  return violations
}

function findFailureViolations(run: RunState, isRevoked: boolean, skillFailed: boolean): string[] {
  if (run.status !== 'failed' || isRevoked || (run.slug === 'skill' && skillFailed)) return []
  return [`failed: ${JSON.stringify(run.error)}`]
}

function findResultViolations(
  { status, slug, result }: RunState,
  launched: { id: string; kind: string | null } | undefined,
): string[] {
  if (status !== 'success' || !launched || !workflowKinds.includes(slug as WorkflowKind)) return []
  const expected = resultOf(slug as WorkflowKind, launched.id)
  if (expected === undefined || isDeepStrictEqual(result, expected)) return []
  return [`gave ${JSON.stringify(result)}`]
}

/** Of all answers one counts; an acknowledged one, if there is any; never one that was refused for certain. */
function findAnswerViolations({ status, result }: RunState, operations: readonly Operation[]): string[] {
  const attempts = operations.flatMap((operation) => operation.attempts)
  const said = (which: typeof attempts) => which.map((attempt) => attempt.said ?? '')
  const acknowledged = said(attempts.filter(isSuccess))
  const violations: string[] = []
  if (acknowledged.length > 1)
    violations.push(`${acknowledged.length} answers to one question were acknowledged`)
  if (acknowledged.length > 0 && status === 'suspended')
    violations.push('was answered, and waits for an answer')
  if (status !== 'success') return violations
  const answer = (result as { answer?: unknown } | null)?.answer
  if (typeof answer !== 'string') return violations
  if (said(attempts.filter(isRefusal)).includes(answer))
    violations.push(`took the answer ${answer}, which was refused`)
  if (acknowledged.length > 0 && !acknowledged.includes(answer))
    violations.push(`took the answer ${answer}, while ${acknowledged.join(' and ')} was acknowledged`)
  return violations
}
