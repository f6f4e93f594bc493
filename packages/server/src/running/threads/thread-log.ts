import type { NewThreadEvent } from '@guildhall/contract'
import type { Tx } from '#platform/database.ts'
import type { RedisLink } from '#platform/redis.ts'
import { createLog, deltaFrame } from '#streams/streams.ts'

export type NewEvent = NewThreadEvent
export type StoredEvent = NewEvent & {
  readonly id: string
  readonly sequence: number
  readonly more?: string
}

/** Run ids are told apart from those of workflows by their beginning. */
const runPrefix = 'chat_'

export function toRunId(runId: string): string {
  return `${runPrefix}${runId}`
}

const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** As rows have it; undefined for what is no run of a chat. */
export function fromRunId(text: string): string | undefined {
  if (!text.startsWith(runPrefix)) return undefined
  const runId = text.slice(runPrefix.length)
  return uuidPattern.test(runId) ? runId : undefined
}

/** The log of a thread: what people and agents said in it, and what its runs came to. Nothing ends it. */
const threadLog = createLog<NewEvent>({
  table: 'thread_events',
  key: 'thread_row_id',
  counters: 'threads',
  fence: 'active_attempt = $4',
  ended: 'false',
  suffix: '-of-threads',
  runs: {
    column: 'run_id',
    // Ids of threads have no character that JSON would have to escape.
    more: `'"threadId":"' || (select t.thread_id from threads t where t.id = thread_row_id) || '",'
      || coalesce('"runId":"${runPrefix}' || run_id || '",', '')
      || '"at":"' || to_char(timezone('utc', "at"), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '",'`,
  },
  channel: (threadRowId) => `thread:${threadRowId}`,
  eventId: (threadRowId, sequence) => `tev_${threadRowId}_${sequence}`,
  isLast: () => false,
  isLastOfRun: (type) => type === 'run.finished',
})

export { threadLog }

export const { publishEvents } = threadLog

/** Call it with the thread locked: who holds the lock says what comes next. */
export async function appendEvents(
  tx: Tx,
  threadRowId: number,
  events: readonly NewEvent[],
): Promise<StoredEvent[]> {
  return threadLog.appendEventsLocked(tx, threadRowId, events)
}

/** Words of a reply as they come, for whoever reads along. */
export function publishDelta(
  redis: RedisLink,
  { threadRowId, threadId, runId }: { threadRowId: number; threadId: string; runId: string },
  text: string,
): void {
  const more = `"threadId":"${threadId}","runId":"${toRunId(runId)}",`
  const frames = deltaFrame(text, more)
  threadLog.publishNews(redis, threadRowId, {
    kind: 'deltas',
    after: Number.POSITIVE_INFINITY,
    of: runId,
    frames,
  })
}
