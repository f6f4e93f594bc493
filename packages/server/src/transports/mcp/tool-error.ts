import type { ApiError } from '#operations/errors.ts'
import type { CallToolResult } from './shapes.ts'
import { refusedTool } from './tools/tool.ts'

/** What to do next, where the code alone tells it. */
const advice: Readonly<Partial<Record<ApiError['code'], string>>> = {
  NOT_FOUND: 'There is nothing of this name in this workspace; look it up with a tool that lists.',
  EXECUTION_RUNNING:
    'An execution is running in this workspace. Follow it with get_execution, or run yours with if_busy "queue".',
  EXECUTION_FAILED:
    'It could not be started, and nothing was charged. Call again in a while with the same arguments.',
  INSUFFICIENT_CREDITS: 'Too few credits. Tell the person; they can add some in the app.',
  NOT_SUSPENDED: 'The run waits for no answer; read it with get_workflow_run.',
  NO_SUSPEND_FRAME: 'The run waits for no answer; read it with get_workflow_run.',
  STEP_MISMATCH:
    'The run waits at another step; read it with get_workflow_run and name the step it waits at.',
  RESUME_IN_PROGRESS: 'Another answer is being taken; read the run with get_workflow_run.',
}

/** A refusal as a model can act on it. Words of ours only; the same for what is foreign as for what is missing. */
export function toolError(refusal: ApiError, requestId: string): CallToolResult {
  const { code, details, retryAfterSeconds, status } = refusal
  const known = advice[code]
  const text = known ?? (status >= 500 ? `${refusal.message} (request ${requestId})` : refusal.message)
  const facts = factsOf(details)
  const wait = retryAfterSeconds === undefined ? '' : ` Try again in ${retryAfterSeconds} s.`
  return refusedTool(`${code}: ${text}${facts}${wait}`, {
    code,
    ...(details && { details }),
    ...(retryAfterSeconds !== undefined && { retry_after_seconds: retryAfterSeconds }),
    request_id: requestId,
  })
}

const toldFacts = ['executionId', 'approval_url', 'balance', 'keyLimit', 'limit']

function factsOf(details: ApiError['details']): string {
  const told = toldFacts.flatMap((name) =>
    details?.[name] === undefined ? [] : [`${name}: ${JSON.stringify(details[name])}`],
  )
  return told.length === 0 ? '' : ` (${told.join(', ')})`
}
