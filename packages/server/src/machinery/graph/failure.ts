export type StepErrorCode =
  | 'TOOL_FAILED'
  | 'AGENT_FAILED'
  | 'AGENT_OUTPUT_INVALID'
  | 'STEP_INPUT_INVALID'
  | 'MAPPING_PATH_INVALID'
  | 'STEP_RESULT_MISSING'
  | 'FOREACH_INPUT_NOT_ARRAY'
  | 'FOREACH_LIMIT_EXCEEDED'
  | 'LOOP_LIMIT_EXCEEDED'
  | 'STEP_OUTPUT_TOO_LARGE'
  | 'RUN_TOO_LARGE'
  | 'STEP_TIMEOUT'
  | 'WORKFLOW_OUTPUT_INVALID'
  | 'SKILL_FAILED'
  | 'REFERENCE_GONE'
  | 'ACCESS_ENDED'
  | 'INTERNAL_ERROR'

/** Why a step cannot succeed; trying these again gives the same. */
const finalCodes: ReadonlySet<StepErrorCode> = new Set<StepErrorCode>([
  'STEP_INPUT_INVALID',
  'STEP_OUTPUT_TOO_LARGE',
  'RUN_TOO_LARGE',
  'FOREACH_INPUT_NOT_ARRAY',
  'FOREACH_LIMIT_EXCEEDED',
  'LOOP_LIMIT_EXCEEDED',
  'REFERENCE_GONE',
  'ACCESS_ENDED',
])

export function isWorthRetrying(code: StepErrorCode): boolean {
  return !finalCodes.has(code)
}

export interface Failure {
  readonly code: StepErrorCode
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>>
}

/** Nothing more is done for who may not do it themselves any more. */
export const accessEnded: Failure = {
  code: 'ACCESS_ENDED',
  message:
    'Who launched this run may no longer run workflows here: the person has left the workspace, or the key or app has ended or lost its scope. Somebody who may can rerun it.',
}

/** As runs and their steps show it. */
export interface RunError extends Failure {
  readonly name: 'WorkflowStepError' | 'WorkflowError'
  readonly stepId?: string
}

export function stepError(stepId: string, { code, message, details }: Failure): RunError {
  return { name: 'WorkflowStepError', code, message, stepId, ...(details && { details }) }
}

/** Ends the step that is being computed. */
export class StepRefused extends Error {
  readonly failure: Failure
  constructor(code: StepErrorCode, message: string) {
    super(message)
    this.failure = { code, message }
  }
}

/** Ends the run. */
export class RunFailed extends Error {
  readonly error: RunError
  constructor(error: RunError) {
    super(error.message)
    this.error = error
  }
}

/** What `Durable.race` rejects with once the run is canceled. */
export class RunCanceled extends Error {
  constructor() {
    super('the run was canceled')
  }
}
