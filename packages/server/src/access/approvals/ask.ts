import { createHash, randomUUID } from 'node:crypto'
import { actionArgsLimits, approvalLifetimeSeconds, type GrantMode, pendingPerKey } from '@guildhall/contract'
import { isNestedWithin, jsonBytes } from '#machinery/graph/graph.ts'
import { ApiError } from '#operations/errors.ts'
import type { Principal } from '#operations/principal.ts'
import type { Tx } from '#platform/database.ts'
import { mintUserCode } from '#platform/user-code.ts'
import * as store from './store.ts'

/** What a key asks its person. */
export interface KeyRequest {
  readonly kind: 'consent' | 'permission' | 'ask'
  readonly scopes: readonly string[]
  readonly mode: GrantMode | null
  readonly reason: string | null
  readonly action: unknown
  readonly question?: object
}

export interface Asked {
  readonly outcome: 'pending'
  readonly id: string
  readonly linkCode: string | null
  readonly isNew: boolean
}

/** Under the key's row lock: equal requests share one answer, and a key cannot flood its person's inbox. */
export async function ask(
  tx: Tx,
  key: Principal,
  request: KeyRequest,
  lifetimeSeconds: number = approvalLifetimeSeconds,
): Promise<Asked> {
  const sameAs = createHash('sha256').update(JSON.stringify(request)).digest()
  const pending = await store.listPending(tx, key.credentialId)
  const twin = pending.find((other) => other.same_as.equals(sameAs))
  if (twin) {
    await store.updateTimes(tx, twin.id)
    return { outcome: 'pending', id: twin.id, linkCode: twin.link_code, isNew: false }
  }
  requireRoom(pending)
  const { kind, scopes, mode, reason, action, question } = request
  const id = `${kind}_${randomUUID()}`
  for (;;) {
    const linkCode = kind === 'consent' ? mintUserCode() : null
    const row = {
      id,
      kind,
      key_id: key.credentialId,
      user_id: key.userId,
      workspace_id: key.workspaceId,
      same_as: sameAs,
      scopes: [...scopes],
      mode,
      reason,
      action: action === null ? null : JSON.stringify(action),
      link_code: linkCode,
      ...(question && { question: JSON.stringify(question) }),
      lifetimeSeconds,
    }
    const [inserted] = await store.insertRequests(tx, [row])
    // Not inserted when the link code is taken: another one is drawn.
    if (inserted !== undefined) return { outcome: 'pending', id, linkCode, isNew: true }
  }
}

/** Under the key's row lock, of what it waits for. */
export function requireRoom(pending: readonly { readonly seconds_left: number }[]): void {
  if (pending.length < pendingPerKey) return
  const resetSeconds = Math.max(1, Math.ceil(Math.min(...pending.map((one) => one.seconds_left))))
  throw new ApiError('RATE_LIMITED', {
    message: `This key has ${pendingPerKey} requests that wait for a decision; wait for one`,
    retryAfterSeconds: 2,
    window: { limit: pendingPerKey, resetSeconds },
  })
}

/** What is kept for somebody to read has a size, and nothing that shows it has to recurse far. */
export function refuseLarge(value: unknown, name: string): void {
  const { bytes, depth } = actionArgsLimits
  if (value === undefined || (isNestedWithin(value, depth) && jsonBytes(value) <= bytes)) return
  throw new ApiError('INVALID_INPUT', {
    message: `${name}: at most ${bytes} bytes as JSON and ${depth} levels deep`,
    details: { limit: bytes, depth },
  })
}
