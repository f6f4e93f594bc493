import type { GrantMode } from '@guildhall/contract'
import { ApiError } from '#operations/errors.ts'
import type { Bus } from '#platform/bus.ts'
import type { Deps } from '#platform/deps.ts'
import { longPoll } from '#platform/long-poll.ts'
import type { ApprovalState } from './lifecycle.ts'
import * as store from './store.ts'

export interface OwnRequest {
  readonly state: ApprovalState
  readonly grantedMode: GrantMode | null
  readonly grantedUntil: string | null
  readonly denyReason: string | null
  /** How it ended without a decision, if whoever asked was told so. */
  readonly closed: 'expired' | 'withdrawn' | null
  readonly answer: unknown
}

export function decisionChannel(requestId: string): string {
  return `decision:${requestId}`
}

/** What became of a key's own request: at once, or with `wait` as soon as the person has decided. */
export async function waitForDecision(
  deps: Pick<Deps, 'database' | 'stopping'>,
  bus: Bus,
  own: { readonly keyId: number; readonly kind: store.StoredKind; readonly id: string },
  { wait, signal }: { wait?: number | undefined; signal: AbortSignal },
): Promise<OwnRequest> {
  const { database, stopping } = deps
  return longPoll({ bus, stopping }, decisionChannel(own.id), { wait, signal }, async () => {
    for (;;) {
      const [found] = await database.hot<OwnRequest>(store.findOwnStatement, [own.id, own.keyId, own.kind])
      if (!found) throw new ApiError('NOT_FOUND')
      // A decision that began before the deadline may be on its way: either it is over for both, or it stands.
      const isOpen = found.state === 'expired' && found.closed === null
      if (!isOpen || (await store.claimExpiry(database.db, own.id)))
        return { found, isOver: found.state !== 'pending' }
    }
  })
}

/** Takes back what a key asks. False when it is not pending any more; whoever waits for it is woken. */
export async function withdrawRequest(
  { database }: Pick<Deps, 'database'>,
  bus: Bus,
  own: { readonly keyId: number; readonly kind: store.StoredKind; readonly id: string },
  because: string | null,
): Promise<boolean> {
  if (!(await store.claimWithdrawal(database.db, own, because))) return false
  bus.wake(decisionChannel(own.id))
  return true
}
