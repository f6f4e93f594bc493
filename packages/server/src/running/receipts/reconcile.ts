import type { Reconciler } from '#platform/reconcile.ts'
import { sideBySide } from '#platform/side-by-side.ts'
import { makeReceipt, type ReceiptParts } from './receipts.ts'
import { claimDue } from './store.ts'

const atMost = 100
const atOnce = 4

/** Whatever has ended gets its receipt, by whichever process looks first. */
export function receiptReconcilers(parts: ReceiptParts): Reconciler[] {
  const { database, logger } = parts
  const warn = (error: unknown, { subject }: { subject: string }) =>
    logger.warn({ err: error, subject }, 'a receipt was not made yet')
  return [
    {
      name: 'receipts',
      run: async () =>
        sideBySide(await claimDue(database.db, atMost), atOnce, (due) => makeReceipt(parts, due), warn),
    },
  ]
}
