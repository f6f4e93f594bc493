import { randomUUID } from 'node:crypto'
import type { Tx } from '../platform/database.ts'
import * as store from './store.ts'

export { findTrace, updateTrace } from './store.ts'

const titleLength = 120

/**
 * A trace is the index of a lineage; the turns themselves stay with their producer. `traceKey` is the parent's for a
 * rerun, and a fresh one otherwise.
 */
export async function openTrace(
  tx: Tx,
  producer: {
    workspaceId: string
    userId: string
    apiKeyId: number | null
    executionId: string
    title: string
    traceKey: string | undefined
  },
): Promise<string> {
  const id = `trace_${randomUUID()}`
  await store.insertTrace(tx, {
    id,
    workspace_id: producer.workspaceId,
    kind: 'execution',
    title: producer.title.slice(0, titleLength),
    status: 'idle',
    user_id: producer.userId,
    api_key_id: producer.apiKeyId,
    agent_slug: null,
    execution_id: producer.executionId,
    trace_key: producer.traceKey ?? `lineage_${randomUUID()}`,
  })
  return id
}
