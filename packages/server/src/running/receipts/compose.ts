import { createHash } from 'node:crypto'
import type { Receipt } from '@guildhall/contract'
import { toDs } from '@guildhall/contract'
import { canonical } from '#platform/canonical.ts'

/** What a receipt is about, and everything that is known of it. */
export interface Facts
  extends Pick<Receipt, 'subject' | 'traceId' | 'traceKey' | 'actor' | 'what' | 'authority'> {
  readonly workspaceId: string
  readonly approvals: Receipt['approvals']
  readonly costMilliDs: number
  readonly ledger: readonly number[]
  readonly outputs: Receipt['outputs']
  readonly started: string | null
  readonly ended: string | null
  readonly stopReason: string | null
  readonly log: Receipt['log']
  readonly redactions: number
}

/** A question of it that somebody answered. */
interface Decided {
  readonly id: string
  readonly kind: string
  readonly status: 'granted' | 'denied'
  readonly decided_by: string | null
  readonly decided_by_key: number | null
  readonly decided_at: string
  readonly question: unknown
}

export function receiptId(subject: string): string {
  return `receipt_${subject}`
}

/** What was asked is told by its hash alone. */
export function describeDecided(decided: readonly Decided[]): Receipt['approvals'] {
  return decided.map((one) => ({
    id: one.id,
    kind: one.kind,
    decision: one.status,
    by: one.decided_by,
    byKey: one.decided_by_key,
    at: one.decided_at,
    actionSha256: sha256(canonical(one.question)),
  }))
}

/** Hashes, names and numbers, and nothing that was said. */
export function compose(
  facts: Facts,
  { issuer, previous }: { issuer: string; previous: { id: string; body: string } | undefined },
): Receipt {
  const { subject, traceId, traceKey, actor, what, authority, outputs, started, ended, stopReason } = facts
  return {
    v: 1,
    id: receiptId(subject),
    issuer,
    subject,
    traceId,
    traceKey,
    previous: previous ? { id: previous.id, sha256: sha256(previous.body) } : null,
    actor,
    what,
    authority,
    approvals: facts.approvals,
    cost: { ds: toDs(facts.costMilliDs), ledger: [...facts.ledger] },
    outputs,
    started,
    ended,
    stopReason,
    log: facts.log,
    redactions: facts.redactions,
  }
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
