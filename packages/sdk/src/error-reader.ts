import {
  ApiError,
  AuthenticationError,
  BusyError,
  ConflictError,
  ExpiredError,
  ForbiddenError,
  InsufficientCreditsError,
  InvalidInputError,
  MissingScopeError,
  NotActivatedError,
  NotFoundError,
  RateLimitError,
  type Refusal,
  RunStateError,
  ServerError,
  WrongCredentialError,
} from './errors.ts'

type Fields = Readonly<Record<string, unknown>>

/** What a refusal looked like on the wire. `text` has no credential in it any more. */
export interface Refused {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly operation: string
}

/** The error that a refusal is thrown as. */
export function errorOf({ status, headers, text, operation }: Refused): ApiError {
  const said = readBody(text)
  const refusal: Refusal = {
    status,
    code: said?.code ?? 'UNEXPECTED_ANSWER',
    message: said?.message ?? `Status ${status}, and not from Guildhall: ${text.trim().slice(0, 200)}`,
    details: said?.details ?? {},
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: secondsOf(headers.get('retry-after')),
    operation,
  }
  return new (classOf(refusal))(refusal)
}

/** `retry-after` is a number of seconds or a date. */
function secondsOf(header: string | null): number | undefined {
  if (!header?.trim()) return undefined
  const given = Number(header)
  const seconds = given >= 0 ? given : (Date.parse(header) - Date.now()) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}

interface Said {
  readonly code: string
  readonly message: string
  readonly details: Fields
}

/** The four shapes of refusals; undefined for what is none of them, as a proxy's page. */
function readBody(text: string): Said | undefined {
  const { error, code, message, error_description: description, ...rest } = fieldsOf(parse(text)) ?? {}
  const { details, ...said } =
    fieldsOf(error) ??
    // A run that has ended says so in words, and its code stands beside them.
    (typeof code === 'string'
      ? { code, message: error, details: rest }
      : { code: error, message: message ?? description, details: rest })
  if (typeof said['code'] !== 'string') return undefined
  return {
    code: said['code'],
    message: typeof said['message'] === 'string' ? said['message'] : said['code'],
    details: fieldsOf(details) ?? {},
  }
}

const runStates: readonly string[] = [
  'NOT_SUSPENDED',
  'NO_SUSPEND_FRAME',
  'STEP_MISMATCH',
  'RESUME_IN_PROGRESS',
  'RESUME_FAILED',
]

function classOf({ status, code, details }: Refusal): new (refusal: Refusal) => ApiError {
  if (code === 'RATE_LIMITED') return RateLimitError
  if (code === 'EXECUTION_RUNNING') return BusyError
  if (runStates.includes(code)) return RunStateError
  if (code === 'ACTIVATION_REQUIRED') return NotActivatedError
  if (status === 403) {
    if (details['activation_url']) return NotActivatedError
    if (details['missing_scopes']) return MissingScopeError
    if (details['credential']) return WrongCredentialError
  }
  return byStatus[status] ?? (status >= 500 ? ServerError : ApiError)
}

const byStatus: Readonly<Record<number, new (refusal: Refusal) => ApiError>> = {
  400: InvalidInputError,
  401: AuthenticationError,
  402: InsufficientCreditsError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  410: ExpiredError,
}

/** What a text says as JSON; undefined when it is none. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
}
