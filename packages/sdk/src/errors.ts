import type { ErrorCode, Open } from './generated/records.ts'

const brand = Symbol.for('@guildhall/sdk/error')

/**
 * Everything the library throws on purpose. `SomeError.is(error)` also knows the errors of another copy of this
 * package, which `instanceof` does not.
 */
export class GuildhallError extends Error {
  /** The name of the class, which survives a minifier. */
  static readonly kind: string = 'GuildhallError'

  /** Whether this is such an error, or one of its kinds. */
  static is<E extends GuildhallError>(
    this: (abstract new (...given: never[]) => E) & { readonly kind: string },
    error: unknown,
  ): error is E {
    const kinds = (error as { readonly [brand]?: readonly string[] } | null | undefined)?.[brand]
    // biome-ignore lint/complexity/noThisInStatic: `this` is the class that is asked about.
    return kinds?.includes(this.kind) ?? false
  }

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    const kinds: string[] = []
    for (let at: typeof GuildhallError = new.target; at.kind; at = Object.getPrototypeOf(at))
      kinds.push(at.kind)
    Object.defineProperties(this, {
      [brand]: { value: kinds },
      name: { value: kinds[0], configurable: true },
    })
  }
}

/** The client was set up, or called, in a way that cannot work. Nothing was sent. */
export class ConfigurationError extends GuildhallError {
  static override readonly kind: string = 'ConfigurationError'
}

/** What is known of a refusal. */
export interface Refusal {
  readonly status: number
  readonly code: Open<ErrorCode>
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly operation: string
}

/** The server answered, and not with what was asked for. */
export class ApiError extends GuildhallError implements Refusal {
  static override readonly kind: string = 'ApiError'
  /** The HTTP status. */
  declare readonly status: number
  /** What happened, for programs; `UNEXPECTED_ANSWER` when it did not come from the service. */
  declare readonly code: Open<ErrorCode>
  /** Whatever else the server said about it. */
  declare readonly details: Readonly<Record<string, unknown>>
  /** To be quoted in questions. */
  declare readonly requestId: string | undefined
  /** When to come back, if the server said so. */
  declare readonly retryAfterSeconds: number | undefined
  /** The name of the operation, or method and path. */
  declare readonly operation: string

  constructor(refusal: Refusal) {
    super(refusal.message)
    Object.assign(this, refusal)
  }
}

/** 401: no credential, or one that has ended. */
export class AuthenticationError extends ApiError {
  static override readonly kind: string = 'AuthenticationError'
}

/** The key waits for its first consent: `permissions.connect` asks for it. */
export class NotActivatedError extends ApiError {
  static override readonly kind: string = 'NotActivatedError'
}

/** 403: the key lacks scopes that a person can grant. */
export class MissingScopeError extends ApiError {
  static override readonly kind: string = 'MissingScopeError'

  /** What it lacks. */
  get missingScopes(): readonly string[] {
    return listOf(this.details['missing_scopes'])
  }

  /** The request that asks a person for it, as the server suggests. */
  get request(): unknown {
    return this.details['request']
  }
}

/** 403: the operation takes another kind of credential. */
export class WrongCredentialError extends ApiError {
  static override readonly kind: string = 'WrongCredentialError'
}

/** Any other 403; `details` may say what would help. */
export class ForbiddenError extends ApiError {
  static override readonly kind: string = 'ForbiddenError'
}

/** 404, also for what belongs to others. */
export class NotFoundError extends ApiError {
  static override readonly kind: string = 'NotFoundError'
}

/** 409: it does not fit the present state. Repeating it does not help. */
export class ConflictError extends ApiError {
  static override readonly kind: string = 'ConflictError'
}

/** The run does not take this answer now: look at it again. */
export class RunStateError extends ConflictError {
  static override readonly kind: string = 'RunStateError'

  /** The steps that wait, if the server named them. */
  get suspended(): readonly string[] {
    return listOf(this.details['suspended'])
  }
}

/** 410: it had a time, and that is over. */
export class ExpiredError extends ApiError {
  static override readonly kind: string = 'ExpiredError'
}

/** One thing that is wrong with what was sent. */
export interface InputIssue {
  readonly path?: string
  readonly message?: string
  readonly [fact: string]: unknown
}

/** 400: what was sent does not fit. */
export class InvalidInputError extends ApiError {
  static override readonly kind: string = 'InvalidInputError'

  /** Each thing that is wrong. */
  get issues(): readonly InputIssue[] {
    return listOf(this.details['issues'])
  }
}

/** 402: the workspace has too few credits for this. */
export class InsufficientCreditsError extends ApiError {
  static override readonly kind: string = 'InsufficientCreditsError'

  /** What the workspace has, in Ds. */
  get balance(): number | undefined {
    return this.details['balance'] as number | undefined
  }

  /** What of it is not held back for something that runs. */
  get availableBalance(): number | undefined {
    return this.details['availableBalance'] as number | undefined
  }

  /** What a start needs at least. */
  get minimumRequired(): number | undefined {
    return this.details['minimumRequired'] as number | undefined
  }
}

/** Something else runs in this workspace: wait, cancel it, or send `ifBusy: 'queue'`. */
export class BusyError extends ApiError {
  static override readonly kind: string = 'BusyError'
}

/** Too many requests, and waiting as long as allowed did not help. */
export class RateLimitError extends ApiError {
  static override readonly kind: string = 'RateLimitError'
}

/** 5xx: the fault is on the other side. */
export class ServerError extends ApiError {
  static override readonly kind: string = 'ServerError'
}

/** It was made, but its secret was in an answer that got lost: rotate or delete `id`. */
export class SecretLostError extends ConflictError {
  static override readonly kind: string = 'SecretLostError'

  /** What was made. */
  get id(): string | number {
    return this.details['id'] as string | number
  }
}

/** No whole answer came. */
export class ConnectionError extends GuildhallError {
  static override readonly kind: string = 'ConnectionError'
  /** `unsent`: nothing reached the server. `unknown`: it may have done what it was asked for. */
  readonly outcome: 'unsent' | 'unknown'

  constructor(message: string, outcome: 'unsent' | 'unknown', options?: ErrorOptions) {
    super(message, options)
    this.outcome = outcome
  }
}

/** No whole answer came in time. */
export class TimeoutError extends ConnectionError {
  static override readonly kind: string = 'TimeoutError'
}

const listOf = <T>(value: unknown): readonly T[] => (Array.isArray(value) ? value : [])
