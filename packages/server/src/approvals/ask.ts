import { createHash, randomUUID } from 'node:crypto'
import { approvalLifetimeSeconds, type GrantMode, pendingPerKey } from '@guildhall/contract'
import { ApiError } from '../operations/errors.ts'
import type { Principal } from '../operations/principal.ts'
import type { Tx } from '../platform/database.ts'
import { mintUserCode } from '../platform/user-code.ts'
import * as store from './store.ts'

/** What a key asks its person. */
export interface KeyQuestion {
  readonly kind: 'consent' | 'permission'
  readonly scopes: string[]
  readonly mode: GrantMode | null
  readonly reason: string | null
  readonly action: unknown
}

export interface Asked {
  readonly outcome: 'pending'
  readonly id: string
  readonly linkCode: string | null
  readonly isNew: boolean
}

/** Under the key's row lock: equal questions share one answer, and a key cannot flood its person's inbox. */
export async function ask(tx: Tx, key: Principal, question: KeyQuestion): Promise<Asked> {
  const sameAs = createHash('sha256').update(JSON.stringify(question)).digest()
  const pending = await store.listPending(tx, key.credentialId)
  const twin = pending.find((request) => request.same_as.equals(sameAs))
  if (twin) return { outcome: 'pending', id: twin.id, linkCode: twin.link_code, isNew: false }
  if (pending.length >= pendingPerKey) {
    throw new ApiError('RATE_LIMITED', {
      message: `This key has ${pendingPerKey} requests that wait for a decision; wait for one`,
      retryAfterSeconds: 2,
    })
  }
  const { kind, scopes, mode, reason, action } = question
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
      scopes,
      mode,
      reason,
      action: action === null ? null : JSON.stringify(action),
      link_code: linkCode,
      lifetimeSeconds: approvalLifetimeSeconds,
    }
    const [inserted] = await store.insertRequests(tx, [row])
    // Not inserted when the link code is taken: another one is drawn.
    if (inserted !== undefined) return { outcome: 'pending', id, linkCode, isNew: true }
  }
}
