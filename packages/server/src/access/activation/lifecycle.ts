import type { Decider } from '@guildhall/contract'
import { ApiError } from '#operations/errors.ts'

/**
 * The life of a pairing code.
 *
 *   pending ── approve ──> approved ── first poll ──> consumed
 *      │                      │
 *      ├── deny ──> denied    │
 *      └── 600 s ──> expired <┘ (approval does not extend the clock)
 *
 * Stored are pending, approved, denied and consumed; `expired` is what pending and approved read as once the
 * database's clock has passed `expires_at`, so it needs no process to happen. Every change is one conditional
 * UPDATE, hence of any number of racing approvals, denials and polls exactly one moves the row. No state is ever
 * left for an earlier one: a state read after a lost change is therefore the winner's or a later one of it.
 */
export type ActivationState = 'pending' | 'approved' | 'denied' | 'consumed' | 'expired'

/** What the person is told whose decision came too late; by whom it was decided, where that is theirs to know. */
export function refuseDecision(
  state: ActivationState,
  decided: { decided_at: string | null; decided_by: Decider | null },
): ApiError {
  if (state === 'expired')
    return new ApiError('EXPIRED', { message: 'This code has expired; ask for a new one' })
  const message =
    state === 'consumed'
      ? 'This code was approved and is consumed: its agent has collected the key'
      : `This code is already ${state}`
  return new ApiError('CONFLICT', { message, details: { status: state, ...decided } })
}

/** Where a poll that waits is told of a decision. Of the code's hash: the code itself is a secret. */
export function pairingChannel(deviceCodeHash: Buffer): string {
  return `pairing:${deviceCodeHash.toString('base64url')}`
}

/** Its name in the inbox of whoever looked at it. */
export function approvalIdOf(activationId: number): string {
  return `activation_${activationId}`
}
