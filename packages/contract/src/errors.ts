import { type Static, Type } from 'typebox'

/**
 * Every error code the service answers with, its status and its default sentence. The status lives here
 * and nowhere else, so that a code can never travel with two different ones by accident.
 */
export const errorTable = {
  UNAUTHORIZED: { status: 401, message: 'Missing auth token' },
  FORBIDDEN: { status: 403, message: 'This credential may not do that' },
  ACTIVATION_REQUIRED: { status: 409, message: 'This key is not activated yet: connect it first' },
  NOT_FOUND: { status: 404, message: 'Not found' },
  CONFLICT: { status: 409, message: 'The request conflicts with the present state' },
  EXPIRED: { status: 410, message: 'This has expired' },
  INVALID_INPUT: { status: 400, message: 'The request is malformed' },
  INSUFFICIENT_CREDITS: { status: 402, message: 'Too few credits to run this; add credits and start again' },
  EXECUTION_RUNNING: {
    status: 429,
    message: 'An execution is running in this workspace; wait for it to end or cancel it',
  },
  EXECUTION_FAILED: { status: 500, message: 'The execution could not be started; nothing was charged' },
  NOT_SUSPENDED: { status: 409, message: 'The run does not wait for an answer' },
  NO_SUSPEND_FRAME: { status: 409, message: 'The run is marked suspended, but no step of it waits' },
  STEP_MISMATCH: { status: 409, message: 'The run does not wait at this step' },
  RESUME_IN_PROGRESS: { status: 409, message: 'Another answer is being taken; look at the run again' },
  RESUME_FAILED: { status: 500, message: 'The answer could not be handed over; send it again' },
  RATE_LIMITED: { status: 429, message: 'Too many requests; wait and try again' },
  INTERNAL_ERROR: {
    status: 500,
    message: 'Something went wrong on our side; quote the request id when asking',
  },
  SERVICE_UNAVAILABLE: { status: 503, message: 'A part of the service is away; try again shortly' },
} as const

export type ErrorCode = keyof typeof errorTable

const Code = Type.Enum(Object.keys(errorTable) as ErrorCode[], { title: 'ErrorCode' })

/** What every refusal looks like, but where a route says otherwise. */
export const Problem = Type.Object(
  {
    error: Type.Object({
      type: Type.Optional(Type.Literal('rate_limit_error', { description: 'With RATE_LIMITED' })),
      code: Code,
      message: Type.String({ description: 'What happened and what to do next, for a person' }),
      details: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    }),
  },
  { title: 'Problem' },
)
export type Problem = Static<typeof Problem>

/** What the routes that start skills answer for failures of the start itself; details stand beside the code. */
export const FlatProblem = Type.Object({ error: Code, message: Type.String() }, { title: 'FlatProblem' })
export type FlatProblem = Static<typeof FlatProblem>
