import {
  AISDKError,
  APICallError,
  InvalidPromptError,
  InvalidResponseDataError,
  UnsupportedFunctionalityError,
} from 'ai'
import type { RetryReason } from './conversation.ts'

export type ModelErrorKind =
  | RetryReason
  /** The provider does not accept the key, or there is none. */
  | 'key_refused'
  /** The provider does not accept the request; sent again it would be refused again. */
  | 'bad_request'
  | 'unknown_model'

const sentences: Record<ModelErrorKind, string> = {
  rate_limited: 'The model provider limits how much may be asked of it; try again later',
  overloaded: 'The model provider is overloaded; try again later',
  provider_error: 'The model provider failed; try again later',
  network: 'The connection to the model provider broke; try again later',
  key_refused: 'The model provider does not accept the key; check it',
  bad_request: 'The model provider refused the request',
  unknown_model: 'The model is not known; choose one that is configured',
}

/**
 * Why a call got no reply. It has no cause: the errors underneath hold the whole conversation and are not for logs.
 */
export class ModelError extends Error {
  override readonly name = 'ModelError'
  readonly kind: ModelErrorKind
  readonly retryable: boolean
  /** How long the provider asked to be left alone. */
  readonly retryAfterMs: number | undefined

  constructor(kind: ModelErrorKind, options: { message?: string; retryAfterMs?: number | undefined } = {}) {
    super(options.message ?? sentences[kind])
    this.kind = kind
    this.retryable = kind in retryReasons
    this.retryAfterMs = options.retryAfterMs
  }
}

const retryReasons: Record<RetryReason, true> = {
  rate_limited: true,
  overloaded: true,
  provider_error: true,
  network: true,
}

/** What went wrong, or undefined for an error that is none of the provider's. */
export function modelErrorOf(error: unknown, now = Date.now()): ModelError | undefined {
  if (error instanceof ModelError) return error
  if (APICallError.isInstance(error)) return fromAnswer(error, now)
  if (InvalidResponseDataError.isInstance(error)) return new ModelError('network')
  if (isBrokenConnection(error)) return new ModelError('network')
  if (InvalidPromptError.isInstance(error) || UnsupportedFunctionalityError.isInstance(error)) {
    return new ModelError('bad_request')
  }
  const event = kindOfEvent(error)
  if (event) return new ModelError(event)
  // What is left of the library's own are answers that it could not read.
  return AISDKError.isInstance(error) ? new ModelError('provider_error') : undefined
}

function fromAnswer(error: APICallError, now: number): ModelError {
  const { statusCode, responseHeaders } = error
  // No answer, or one that began well and broke off.
  if (statusCode === undefined || statusCode < 400) return new ModelError('network')
  const kind = kindOfStatus(statusCode)
  if (kind !== 'bad_request')
    return new ModelError(kind, { retryAfterMs: retryAfterMs(responseHeaders, now) })
  return new ModelError(kind, { message: `${sentences.bad_request}: ${error.message.slice(0, 500)}` })
}

function kindOfStatus(status: number): ModelErrorKind {
  if (status === 429) return 'rate_limited'
  if (status === 529 || status === 503) return 'overloaded'
  if (status >= 500 || status === 408) return 'provider_error'
  if (status === 401 || status === 403) return 'key_refused'
  if (status === 404) return 'unknown_model'
  return 'bad_request'
}

/** An error in the middle of a stream has no status, only the words of its protocol. */
function kindOfEvent(error: unknown): RetryReason | undefined {
  const { type, code } = (error ?? {}) as { type?: unknown; code?: unknown }
  if (typeof type !== 'string') return undefined
  if (type === 'overloaded_error') return 'overloaded'
  return type === 'rate_limit_error' || code === 'rate_limit_exceeded' ? 'rate_limited' : 'provider_error'
}

function isBrokenConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = (error.cause ?? error) as { code?: unknown }
  if (typeof code === 'string' && /^(E[A-Z]+|UND_ERR_\w+)$/.test(code)) return true
  return error instanceof TypeError && /terminated|fetch failed/.test(error.message)
}

function retryAfterMs(headers: Record<string, string> | undefined, now: number): number | undefined {
  const value = headers?.['retry-after']
  if (value === undefined) return undefined
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}
