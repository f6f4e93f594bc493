import { type ErrorCode, errorTable } from '@guildhall/contract'
import { isPassing } from '#platform/database-errors.ts'

interface FullWindow {
  readonly limit: number
  readonly resetSeconds: number
}

interface ApiErrorOptions {
  /** Told to the client instead of the table's sentence; never for a 5xx. */
  message?: string
  /** The same for a 5xx that is the caller's to mend; made of nothing but what the caller sent. */
  mistake?: string
  details?: Readonly<Record<string, unknown>>
  /** Written next to `error`, or in its place, where the interface wants it so. */
  beside?: Readonly<Record<string, unknown>>
  /** Logged, never sent. */
  cause?: unknown
  retryAfterSeconds?: number
  /** The window that has no room, for the headers that describe the caller's. */
  window?: FullWindow
  /** Where the interface gives one code two statuses. */
  status?: number
  /** For the WWW-Authenticate header. */
  authenticate?: string
}

/** A refusal that the client is told. The code decides the status; anything else thrown is a 500. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: ErrorCode
  readonly status: number
  readonly details: Readonly<Record<string, unknown>> | undefined
  readonly beside: Readonly<Record<string, unknown>> | undefined
  readonly retryAfterSeconds: number | undefined
  readonly window: FullWindow | undefined
  readonly authenticate: string | undefined

  constructor(code: ErrorCode, options: ApiErrorOptions = {}) {
    const { status, message } = errorTable[code]
    const told = status < 500 ? options.message : options.mistake
    super(told ?? message, { cause: options.cause })
    this.code = code
    this.status = options.status ?? status
    this.details = options.details
    this.beside = options.beside
    this.retryAfterSeconds = options.retryAfterSeconds
    this.window = options.window
    this.authenticate = options.authenticate
  }
}

/** What a caller is told of whatever was thrown. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  // Given up for a lock or for time as much as for an outage: nobody refused it for what it says.
  if (isPassing(error)) return new ApiError('SERVICE_UNAVAILABLE', { cause: error, retryAfterSeconds: 1 })
  return new ApiError('INTERNAL_ERROR', { cause: error })
}

export function errorBody({ code, message, details, beside }: ApiError) {
  return {
    error: {
      ...(code === 'RATE_LIMITED' ? { type: 'rate_limit_error' } : {}),
      code,
      message,
      ...(details ? { details } : {}),
    },
    ...beside,
  }
}
