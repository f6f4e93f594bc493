import { ConnectionError, GuildhallError } from './errors.ts'

/** What helpers throw, and sending alone never does: bundles without them do not carry these. */

/** A stream could not be read to its end, however often it was opened again. */
export class StreamError extends ConnectionError {
  static override readonly kind: string = 'StreamError'
}

/** The run ended, and not well; thrown only where that was asked for. */
export class ExecutionFailedError extends GuildhallError {
  static override readonly kind: string = 'ExecutionFailedError'
  /** What came out of it nevertheless. */
  readonly result: unknown

  constructor(message: string, result: unknown) {
    super(message)
    this.result = result
  }
}

/** No key came of a pairing. */
export class PairingError extends GuildhallError {
  static override readonly kind: string = 'PairingError'
  /** How it ended. */
  readonly status: 'denied' | 'expired' | 'consumed'

  constructor(message: string, status: 'denied' | 'expired' | 'consumed') {
    super(message)
    this.status = status
  }
}

/** A person said no. */
export class PermissionDeniedError extends GuildhallError {
  static override readonly kind: string = 'PermissionDeniedError'
  /** What the person gave as the reason. */
  readonly denyReason: string | undefined

  constructor(message: string, denyReason: string | undefined, options?: ErrorOptions) {
    super(message, options)
    this.denyReason = denyReason
  }
}

/** No person has decided in time. */
export class PermissionTimeoutError extends GuildhallError {
  static override readonly kind: string = 'PermissionTimeoutError'
  /** The question; it may still be answered, and `permissions.wait` goes on waiting for it. */
  readonly requestId: string | undefined

  constructor(message: string, requestId: string | undefined, options?: ErrorOptions) {
    super(message, options)
    this.requestId = requestId
  }
}
