import { type DecidedRow, describeDecider } from '#access/activation/activation.ts'
import type { Doer } from '#operations/actor.ts'
import { ApiError } from '#operations/errors.ts'

/**
 * The life of whatever waits for a person, of every kind.
 *
 *   pending ── approve ──> granted
 *      │  └─── deny ─────> denied
 *      ├────── deadline ─> expired
 *      └────── withdraw ─> expired   (whoever asked does not ask any more)
 *
 * Stored are pending, granted and denied; `expired` is how a pending row reads once its deadline is over on the
 * database's clock (`platform/deadline.ts`), and to withdraw one is to put its deadline at now. What workflows and limits
 * ask has no deadline until it is decided. A decision is one conditional UPDATE in the transaction that also brings its
 * effect about: of racing decisions one takes effect, whole, and a crash leaves the request pending. Before whoever asked
 * is told that it expired, `closed` is written, which shuts out a decision whose transaction began before the deadline.
 * Only the question of a workflow can come back to pending, with the answer that is taken back.
 *
 * Pairing codes live in `activation/`: they are found by their code, and collected once after they were approved.
 */
export type ApprovalState = 'pending' | 'granted' | 'denied' | 'expired'

/** What somebody is told whose decision came too late: what became of it, and who was first, and when. */
export function refuseDecision(
  request: DecidedRow & { readonly state: ApprovalState; readonly decided_at: string | null },
  viewer: Doer,
): ApiError {
  const { state, decided_at } = request
  return new ApiError('CONFLICT', {
    message:
      state === 'expired'
        ? 'This request has expired; the agent can ask again'
        : `This request is already ${state}`,
    details: { status: state, decided_at, decided_by: describeDecider(request, viewer) },
  })
}
