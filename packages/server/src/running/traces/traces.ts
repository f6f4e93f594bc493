import { randomUUID } from 'node:crypto'
import type { Bus } from '#platform/bus.ts'
import type { Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { withoutSecrets } from '#platform/secrets.ts'
import type { TraceReading } from './read.ts'
import * as store from './store.ts'

export { findEarlierWork } from './continuation.ts'
export { erasedPayload } from './erase.ts'
export { turnsOfLog } from './log-source.ts'
export { Numbering } from './numbering.ts'
export { readTurns, type TraceReading } from './read.ts'
export { requireTrace, requireTraceToGoOn } from './rights.ts'
export { type FoundTrace, findTrace, hasEarlierTurns } from './store.ts'
export { traceChannel } from './tail.ts'
export { listTouchedTraces } from './touched-store.ts'

/** What the routes of traces work with. */
export type TraceParts = TraceReading & Deps & { readonly bus: Bus }

/** All that a run of a workflow starts is one lineage. */
export function traceKeyOfRun(runId: string): string {
  return `lineage_${runId}`
}

const titleLength = 120

export interface NewTrace {
  readonly workspaceId: string
  readonly userId: string
  readonly apiKeyId: number | null
  readonly agentSlug: string | null
  readonly executionId: string
  readonly title: string
  /** The trace of what this is a rerun or a remix of. */
  readonly parentTraceId: string | null
  /** The lineage it belongs to; left out, it begins one. */
  readonly traceKey: string | undefined
}

/** A trace is the index of a lineage; the turns themselves stay with their producer. */
export async function openTrace(tx: Tx, producer: NewTrace): Promise<string> {
  const id = `trace_${randomUUID()}`
  await store.insertTrace(tx, {
    id,
    workspace_id: producer.workspaceId,
    kind: 'execution',
    // First without secrets of ours: half of one would not be known as such.
    title: withoutSecrets(producer.title).slice(0, titleLength),
    status: 'idle',
    user_id: producer.userId,
    api_key_id: producer.apiKeyId,
    agent_slug: producer.agentSlug,
    execution_id: producer.executionId,
    trace_key: producer.traceKey ?? `lineage_${randomUUID()}`,
    parent_trace_id: producer.parentTraceId,
  })
  return id
}

interface NewChatTrace {
  readonly id: string
  readonly workspaceId: string
  readonly userId: string
  readonly apiKeyId: number | null
  readonly agentSlug: string
  readonly title: string
  readonly threadRowId: number
  /** Of what it belongs to; left out, it begins a lineage of its own. */
  readonly traceKey?: string | undefined
}

/** The trace of a conversation, whose thread produces turns from now on. Does nothing where there is one. */
export async function openChatTrace(tx: Tx, thread: NewChatTrace): Promise<void> {
  await store.insertChatTrace(tx, {
    id: thread.id,
    workspace_id: thread.workspaceId,
    kind: 'chat',
    title: withoutSecrets(thread.title).slice(0, titleLength),
    status: 'idle',
    user_id: thread.userId,
    api_key_id: thread.apiKeyId,
    agent_slug: thread.agentSlug,
    trace_key: thread.traceKey ?? `lineage_${randomUUID()}`,
    thread_row_id: thread.threadRowId,
  })
}

/** A conversation that becomes its owner's alone has no record that others read. */
export async function deleteChatTrace(tx: Tx, workspaceId: string, id: string): Promise<void> {
  await store.deleteTrace(tx, workspaceId, id)
}

interface Run {
  readonly workspaceId: string
  readonly traceId: string
  /** Null for a run of a conversation. */
  readonly executionId: string | null
  readonly agentSlug: string | null
}

/** Something has begun to run on a trace. That it produces turns from now on is noted by a trigger, with its own row. */
export async function noteStart(
  tx: Tx,
  { workspaceId, traceId, executionId, agentSlug }: Run,
): Promise<void> {
  const change = { status: 'running', executionId, agentSlug, chargedMilliDs: 0, onlyIfIdle: false } as const
  await store.updateTrace(tx, workspaceId, traceId, change)
}

/** A run of a conversation waits for something: what it used until now was charged. */
export async function noteWait(tx: Tx, run: Run, chargedMilliDs: number): Promise<void> {
  const { workspaceId, traceId, executionId, agentSlug } = run
  const change = { status: 'waiting', executionId, agentSlug, chargedMilliDs, onlyIfIdle: false } as const
  await store.updateTrace(tx, workspaceId, traceId, change)
}

/** It has ended, after it ran or without. `shownMilliDs` is what it was shown to have cost; it may be charged less. */
export async function noteEnd(
  tx: Tx,
  { workspaceId, traceId, executionId, agentSlug }: Run,
  end: { status: 'completed' | 'failed'; ran: boolean; chargedMilliDs: number; shownMilliDs: number },
): Promise<void> {
  const { status, chargedMilliDs } = end
  const change = { status, executionId, agentSlug, chargedMilliDs, onlyIfIdle: !end.ran }
  await store.updateTrace(tx, workspaceId, traceId, change)
  const waived = end.shownMilliDs - chargedMilliDs
  if (waived > 0) await store.updateShown(tx, workspaceId, traceId, waived)
}
