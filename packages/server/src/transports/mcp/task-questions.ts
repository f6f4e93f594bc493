import { createHash } from 'node:crypto'
import { ApiError } from '#operations/errors.ts'
import type { Exchange } from './exchange.ts'
import { RpcError } from './message.ts'
import { isRecord, type RecordOf } from './shapes.ts'
import { shown } from './tools/tool.ts'

/** What a run waits for that whoever follows it as a task may answer. */
interface TaskQuestion {
  /** Unique for the life of the run. */
  readonly key: string
  readonly stepId: string
  readonly question: string
  readonly choices: readonly string[] | undefined
}

/**
 * The questions that agents may answer. What is a person's is none of them, whatever the client can show: it is answered in
 * the app. Of a step that asks several things at once none is shown, because an answer names its step alone.
 */
export function questionsOf({ context }: RecordOf): TaskQuestion[] {
  if (!isRecord(context)) return []
  return Object.entries(context).flatMap(([stepId, step]) => {
    const { waiting } = isRecord(step) && isRecord(step['metadata']) ? step['metadata'] : {}
    const [first, second] = Array.isArray(waiting) ? waiting : []
    if (!isRecord(first) || second !== undefined || !isRecord(first['payload'])) return []
    const { kind, question, choices, answerableBy } = first['payload']
    if (kind !== 'question' || answerableBy !== 'agent' || typeof question !== 'string') return []
    const offered = Array.isArray(choices) ? choices.map(String) : undefined
    return [{ key: String(first['key']), stepId, question, choices: offered }]
  })
}

export function toInputRequests(questions: readonly TaskQuestion[]): RecordOf {
  return Object.fromEntries(
    questions.map(({ key, question, choices }) => {
      const answer = { type: 'string', ...(choices && { enum: choices }) }
      const requestedSchema = { type: 'object', properties: { answer }, required: ['answer'] }
      return [
        key,
        { method: 'elicitation/create', params: { mode: 'form', message: shown(question), requestedSchema } },
      ]
    }),
  )
}

/** Somebody else was quicker, or the run has moved on: there is nothing left to answer. */
const outdated: readonly string[] = [
  'NOT_SUSPENDED',
  'NO_SUSPEND_FRAME',
  'STEP_MISMATCH',
  'RESUME_IN_PROGRESS',
  'CONFLICT',
]

/** Keys are shared by all that speak for a person: nobody else's may be in the way of this answer. */
function repeatKeyOf(...parts: readonly unknown[]): string {
  return `mcp:${createHash('sha256').update(JSON.stringify(parts)).digest('base64url')}`
}

/** Hands on what answers a question that is open; all else is passed over. Sent twice it counts once. */
export async function answerQuestions(
  { caller, request }: Exchange,
  runId: string,
  questions: readonly TaskQuestion[],
  responses: RecordOf,
): Promise<void> {
  for (const { key, stepId } of questions) {
    const said = Object.hasOwn(responses, key) ? responses[key] : undefined
    if (!isRecord(said) || said['action'] !== 'accept' || !isRecord(said['content'])) continue
    try {
      await caller.perform('resumeWorkflowRun', {
        params: { runId },
        body: { stepId, resumeData: { answer: said['content']['answer'] } },
        idempotencyKey: repeatKeyOf(caller.principal.credentialId, runId, key, said['content']['answer']),
      })
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (error.code === 'INVALID_INPUT')
        throw new RpcError('invalidParams', error.message, { id: request.id })
      if (!outdated.includes(error.code)) throw error
    }
  }
}
