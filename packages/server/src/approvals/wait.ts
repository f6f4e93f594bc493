import type { GrantMode } from '@guildhall/contract'
import type { Bus } from '../bus/bus.ts'
import type { Deps } from '../deps.ts'
import { ApiError } from '../operations/errors.ts'
import type { ApprovalState } from './lifecycle.ts'
import * as store from './store.ts'

export interface OwnRequest {
  readonly state: ApprovalState
  readonly grantedMode: GrantMode | null
  readonly grantedUntil: string | null
  readonly denyReason: string | null
}

const lookAgainMs = 1000

export function decisionChannel(requestId: string): string {
  return `decision:${requestId}`
}

/**
 * What became of a key's own request: at once, or with `wait` as soon as the person has decided. Woken by word from
 * whichever process took the decision; looks by itself every second, because word can be lost.
 */
export async function waitForDecision(
  deps: Pick<Deps, 'database' | 'stopping'>,
  bus: Bus,
  own: { readonly keyId: number; readonly kind: store.StoredKind; readonly id: string },
  { wait = 0, signal }: { wait?: number | undefined; signal: AbortSignal },
): Promise<OwnRequest> {
  const end = performance.now() + wait * 1000
  for (;;) {
    const left = end - performance.now()
    const enough = new AbortController()
    // Listening begins before looking, or a decision in between would be missed.
    const woken =
      left > 0 && !deps.stopping.aborted
        ? bus.wait(
            decisionChannel(own.id),
            AbortSignal.any([signal, enough.signal]),
            Math.min(left, lookAgainMs),
          )
        : undefined
    try {
      const [found] = await deps.database.hot<OwnRequest>(store.findOwnStatement, [
        own.id,
        own.keyId,
        own.kind,
      ])
      if (!found) throw new ApiError('NOT_FOUND')
      if (found.state !== 'pending' || !woken || signal.aborted) return found
      await woken
    } finally {
      enough.abort()
    }
  }
}
