/** The person, or the device, did not go through with it. */
export class PasskeyError extends Error {
  readonly reason: 'canceled' | 'exists' | 'unsupported'

  constructor(reason: PasskeyError['reason'], cause?: unknown) {
    super(reason, { cause })
    this.reason = reason
  }
}
