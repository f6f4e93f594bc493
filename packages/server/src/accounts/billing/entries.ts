import type { LedgerKind, LedgerPlace } from '#platform/tables.ts'

/** What an entry is about, beside the credits it moves. */
export interface Concern {
  readonly userId: string
  readonly workspaceId?: string
  readonly executionId?: string
  readonly keyId?: number | null
  readonly note?: string | null
}

const sides: Readonly<Record<LedgerKind, readonly [LedgerPlace, LedgerPlace]>> = {
  grant: ['issued', 'available'],
  reserve: ['available', 'reserved'],
  settle: ['reserved', 'spent'],
  release: ['reserved', 'available'],
  refund: ['spent', 'available'],
  adjust: ['issued', 'available'],
}

/** The rows for these amounts. Nothing moves for zero; a negative amount moves the other way. */
export function entriesFor(about: Concern, amountsMilliDs: Readonly<Partial<Record<LedgerKind, number>>>) {
  return (Object.entries(amountsMilliDs) as [LedgerKind, number][])
    .filter(([, amount]) => amount !== 0)
    .map(([kind, amount]) => {
      const [from, to] = sides[kind]
      return {
        user_id: about.userId,
        kind,
        source: amount > 0 ? from : to,
        target: amount > 0 ? to : from,
        amount_milli_ds: Math.abs(amount),
        workspace_id: about.workspaceId ?? null,
        execution_id: about.executionId ?? null,
        key_id: about.keyId ?? null,
        note: about.note ?? null,
      }
    })
}
