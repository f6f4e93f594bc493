import type { NewExecutionEvent } from '@guildhall/contract'
import type { Database } from '#platform/database.ts'
import type { Logger } from '#platform/logger.ts'
import type { RedisLink } from '#platform/redis.ts'
import { createLog, LogWriter } from '#streams/streams.ts'
import { BlockFold, type OutputBlock } from './blocks.ts'
import { batchesPerAttempt } from './store.ts'

export type NewEvent = NewExecutionEvent

export type StoredEvent = NewEvent & { readonly id: string; readonly sequence: number }

/**
 * The log of an execution. Only the attempt that the row names writes to it, and ending an execution raises that number,
 * so nothing follows the last event.
 */
export const executionLog = createLog<NewEvent>({
  table: 'execution_events',
  key: 'execution_id',
  counters: 'executions',
  fence: `attempt = $4 and status = 'working'`,
  ended: `status in ('completed', 'failed')`,
  channel: (executionRowId) => `execution:${executionRowId}`,
  eventId: (executionRowId, sequence) => `evt_${executionRowId}_${sequence}`,
  isLast: (type) => type === 'session.status_idle',
})

export const {
  appendEvents,
  appendEventsLocked,
  insertEventsFenced,
  listEvents,
  publishEvents,
  publishNews,
} = executionLog

const eventsAtOnce = 200

/** What has come out so far. Fewer events than were asked for are the last: most logs are one statement. */
export async function readBlocks(database: Database, rowId: number): Promise<OutputBlock[]> {
  const fold = new BlockFold()
  for (let after = 0; ; after += eventsAtOnce) {
    const events = await listEvents(database, rowId, after, eventsAtOnce)
    for (const event of events) fold.add(event)
    if (events.length < eventsAtOnce) return fold.blocks
  }
}

/** The pen of one attempt. */
export class EventWriter extends LogWriter<NewEvent> {
  constructor(
    parts: { database: Database; redis: RedisLink; logger: Logger },
    { id, attempt }: { id: number; attempt: number },
  ) {
    super(parts, executionLog, { rowId: id, attempt, lastBatch: attempt * batchesPerAttempt })
  }
}
