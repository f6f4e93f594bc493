import type { BodyOf, executionRoutes } from '@guildhall/contract'
import { executionRunning } from '#accounts/workspaces/workspaces.ts'
import type { Authority } from '#operations/authority.ts'
import { ApiError } from '#operations/errors.ts'
import type { Principal } from '#operations/principal.ts'
import type { Tx } from '#platform/database.ts'
import { requireSmallInput } from './create.ts'
import type { StoredEvent } from './event-log.ts'
import { cancel, type ExecutionParts, follow, interrupted } from './executions.ts'
import {
  type Changed,
  endExecution,
  hasEnded,
  type StartInput,
  startExecution,
  toStartInput,
} from './lifecycle.ts'
import * as queue from './queue-store.ts'
import * as store from './store.ts'

type Posted = BodyOf<(typeof executionRoutes)['postExecutionEvents']>
type Message = Extract<Posted['events'][number], { type: 'user.message' }>

const queueTries = 5

/** What is posted to an execution: whatever it is told to start with, and whether it is ended then. */
export interface Post {
  readonly messages: readonly Message[]
  readonly isInterrupted: boolean
  /** Nothing can come after an interrupt: what it ends takes nothing more. */
  readonly hasMore: boolean
}

export function readPost({ events }: Pick<Posted, 'events'>): Post {
  const end = events.findIndex(({ type }) => type === 'user.interrupt')
  const before = end === -1 ? events : events.slice(0, end)
  const messages = before.filter((event) => event.type === 'user.message')
  return { messages, isInterrupted: end !== -1, hasMore: end !== -1 && end < events.length - 1 }
}

interface Poster {
  readonly principal: Principal
  readonly options: {
    readonly ifBusy: Posted['ifBusy']
    readonly maxCost: number | undefined
    readonly agentSlug: string | null
  }
  /** What it costs, and what it is then allowed by. */
  readonly spend: (tx: Tx) => Promise<Authority>
  /** Notes what came of it, in the same transaction. */
  readonly keep: (tx: Tx, changed: Changed) => Promise<void>
}

/** An end alone. */
export async function postInterrupt(
  parts: ExecutionParts,
  row: store.ExecutionRow,
  { principal, spend, keep }: Pick<Poster, 'principal' | 'spend' | 'keep'>,
): Promise<StoredEvent[]> {
  const { changed } = await cancel(parts, row.id, principal, { spend, keep })
  if (!changed) throw ended(row)
  return changed.events
}

/**
 * A start by all messages together, each of them in the log as it was said; an interrupt behind them ends it in the same
 * transaction. So of several events all are taken, in order, or none.
 */
export async function postMessages(
  parts: ExecutionParts,
  row: store.ExecutionRow,
  { messages, isInterrupted }: Post,
  { principal, options, spend, keep }: Poster,
): Promise<StoredEvent[]> {
  const said = messages.flatMap(({ content }) => content.map(({ text }) => text)).join('\n')
  // What is said now; what it was made with was measured then, and what was taken does not keep it from starting.
  requireSmallInput(said)
  const text = joinInput(row.input_text, said)
  const contents = messages.map(({ content }) => content)
  const change = async (tx: Tx): Promise<Changed> => {
    const held = await store.lockExecution(tx, row.id)
    if (!held || hasEnded(held)) throw ended(row)
    if (held.status === 'working') throw startedBefore()
    if (held.queued_at !== null) throw await waitsAlready(tx, held)
    const authority = await spend(tx)
    const started = await startExecution(tx, parts.config, held, {
      ...toStartInput(principal, authority, text, options),
      contents,
    })
    if (!isInterrupted) return started
    const changed = await endExecution(tx, started.row, { ...interrupted, by: principal })
    return { ...changed, events: [...started.events, ...changed.events] }
  }
  const kept = async (tx: Tx) => {
    const changed = await change(tx)
    await keep(tx, changed)
    return changed
  }
  const changed = await withRetries(options.ifBusy, () => parts.database.transaction(kept))
  await follow(parts, changed)
  return changed.events
}

/** Who is willing to wait finds the slot free and then taken, at worst, by several others one after the other. */
export async function withRetries<T>(
  ifBusy: StartInput['ifBusy'] | undefined,
  work: () => Promise<T>,
): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await work()
    } catch (error) {
      const busy =
        error instanceof ApiError && error.code === 'EXECUTION_RUNNING' && !error.details?.['queuePosition']
      if (!busy || ifBusy !== 'queue' || tried === queueTries) throw error
    }
  }
}

/** What an execution was made with and what it is told when it starts, once when both are the same. */
function joinInput(prepared: string, message: string): string {
  return prepared === '' || prepared === message ? message : `${prepared}\n\n${message}`
}

/** It was told to wait, and does: where, and for what. */
async function waitsAlready(tx: Tx, row: store.ExecutionRow): Promise<ApiError> {
  const queuePosition = await queue.countQueuedUpTo(tx, row)
  return executionRunning(tx, row.workspace_id, { queuePosition })
}

function startedBefore(): ApiError {
  return new ApiError('CONFLICT', { message: 'This execution was started already' })
}

export function ended(row: store.ExecutionRow): ApiError {
  return new ApiError('CONFLICT', {
    message: 'This execution has ended; go on with its trace',
    details: { continue: `/api/v1/traces/${row.trace_id}/continue` },
  })
}
