import { canonical } from '#platform/canonical.ts'
import { noteChange } from '#platform/changes.ts'
import type { Deps } from '#platform/deps.ts'
import { compose, type Facts, receiptId } from './compose.ts'
import { factsOfExecution, factsOfRun } from './facts.ts'
import type { Signer } from './signing.ts'
import * as store from './store.ts'

export type ReceiptParts = Pick<Deps, 'config' | 'database' | 'logger'> & { readonly signer: Signer }

/**
 * Makes the receipt of what is due. A trigger has noted it in the transaction of its end, and it is due until there is a
 * receipt: both change in one transaction. Of processes that make the same one, one comes first.
 */
export async function makeReceipt(parts: ReceiptParts, { subject, kind }: store.Due): Promise<void> {
  const { database } = parts
  const facts = await (kind === 'execution' ? factsOfExecution : factsOfRun)(database, subject)
  if (facts) return keepReceipt(parts, facts)
  // It is gone with its workspace.
  await database.transaction((tx) => store.deleteDue(tx, subject))
}

export async function keepReceipt({ config, database, signer }: ReceiptParts, facts: Facts): Promise<void> {
  const { subject, traceId, traceKey, workspaceId } = facts
  await database.transaction(async (tx) => {
    const previous = await store.lockLastReceipt(tx, traceKey)
    const body = canonical(compose(facts, { issuer: config.publicUrl, previous }))
    const { signature, keyId } = signer.sign(body)
    await store.insertReceipt(tx, {
      id: receiptId(subject),
      workspace_id: workspaceId,
      trace_id: traceId,
      trace_key: traceKey,
      subject,
      body,
      signature,
      key_id: keyId,
    })
    await store.deleteDue(tx, subject)
    noteChange(tx, { kinds: ['receipts'], workspaceId })
  })
}
