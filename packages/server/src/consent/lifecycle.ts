import { ApiError } from '../operations/errors.ts'

/**
 * The life of what an agent asks a person for, a consent or a permission alike.
 *
 *   pending ── approve ──> granted
 *      ├────── deny ─────> denied
 *      └────── 600 s ────> expired
 *
 * Stored are pending, granted and denied; `expired` is how a pending row reads after its time on the database's
 * clock. The decision is one conditional UPDATE in the transaction that also writes the scopes or the grant: of
 * racing decisions one takes effect, whole, and a crash leaves the request pending.
 */
export type RequestState = 'pending' | 'granted' | 'denied' | 'expired'

/** What somebody is told whose decision came too late. */
export function refuseDecision(state: RequestState): ApiError {
  if (state === 'expired')
    return new ApiError('EXPIRED', { message: 'This request has expired; the agent can ask again' })
  return new ApiError('CONFLICT', { message: `This request is already ${state}`, details: { status: state } })
}
