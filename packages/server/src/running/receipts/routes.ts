import { type Receipt, receiptRoutes } from '@guildhall/contract'
import { bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { decodeCursor, rowIdPart, toPage } from '#operations/page.ts'
import type { Db } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { countErased, listRanOn } from '#running/executions/executions.ts'
import { requireTrace, type TraceReading } from '#running/traces/traces.ts'
import { receiptId } from './compose.ts'
import { keepReceipt, makeReceipt } from './receipts.ts'
import { receiptReconcilers } from './reconcile.ts'
import { Signer } from './signing.ts'
import * as store from './store.ts'
import { factsOfTrace } from './trace-facts.ts'

const defaultPage = 50

export function receiptFeature({ config, database, logger }: Deps, traces: TraceReading): Feature {
  const signer = new Signer(config.receiptKeys)
  const parts = { config, database, logger, signer }
  const { db } = database
  const describe = async (workspaceId: string, id: string) => {
    const row = await store.findReceipt(db, workspaceId, id)
    if (!row) throw new ApiError('NOT_FOUND')
    const receipt: Receipt = JSON.parse(row.body)
    const { signature, key_id: keyId } = row
    return { value: { receipt, signature, keyId, redactedSince: await redactedSince(db, row, receipt) } }
  }
  const routes = bindRoutes(receiptRoutes, {
    listTraceReceipts: async (call) => {
      const { params, query } = call
      const trace = await requireTrace(call, params.id)
      const limit = query.limit ?? defaultPage
      const after = query.cursor ? Number(decodeCursor(query.cursor, [rowIdPart])[0]) : 0
      const rows = await store.listReceipts(db, trace, { limit: limit + 1, after })
      return toPage(rows, limit, describeItem, ({ number }) => [String(number)])
    },

    makeTraceReceipt: async (call) => {
      const trace = await requireTrace(call, call.params.id)
      const { workspace_id: workspaceId } = trace
      const { status } = trace
      if (status !== 'completed' && status !== 'failed') {
        const message = `This trace is ${status}; ask again when what runs on it has ended`
        throw new ApiError('CONFLICT', { message, details: { status } })
      }
      if (call.access.mustSpend) await database.transaction((tx) => call.access.spend(tx))
      // The last receipt of a lineage is held as the row of a trace is. Turns are read outside of it, which takes a place too.
      const lineage = { workspaceId, id: `receipts of ${trace.trace_key}` }
      const subjects = await listRanOn(db, workspaceId, trace.id)
      const made = new Set((await store.listBodies(db, subjects)).map(({ subject }) => subject))
      for (const subject of subjects) {
        if (made.has(subject)) continue
        await traces.numbering.alone(lineage, () => makeReceipt(parts, { subject, kind: 'execution' }))
      }
      const bodies = (await store.listBodies(db, subjects)).map(({ body }) => body)
      const facts = await factsOfTrace(traces, trace, bodies)
      await traces.numbering.alone(lineage, () => keepReceipt(parts, facts))
      return describe(workspaceId, receiptId(facts.subject))
    },

    getReceipt: async ({ principal, params }) => describe(principal.workspaceId, params.id),

    getReceiptKeys: async () => ({ keys: [...signer.publicKeys] }),
  })
  return { routes, reconcilers: receiptReconcilers(parts) }
}

/** A signature stands; that the log does not any more is said beside it. */
async function redactedSince(
  db: Db,
  { workspace_id: workspaceId }: { workspace_id: string },
  receipt: Receipt,
) {
  if (receipt.what.kind !== 'execution') return 0
  return (await countErased(db, { workspaceId, executionId: receipt.subject })) - receipt.redactions
}

function describeItem(row: Awaited<ReturnType<typeof store.listReceipts>>[number]) {
  const { id, subject, trace_id: traceId, key_id: keyId, at } = row
  return { id, subject, traceId, keyId, at }
}
