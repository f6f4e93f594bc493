import type { MessageAuthor, ThreadMessage } from '@guildhall/contract'
import type { ThreadParts } from './changes.ts'
import { type LoggedEvent, listNext } from './event-store.ts'
import { threadLog, toRunId } from './thread-log.ts'

const said = ['user.message', 'agent.message'] as const
const lookEveryMs = 1000

interface Page {
  readonly after: number
  readonly limit: number
  readonly waitMs: number
  readonly signal: AbortSignal
}

/** What was said in a thread after a number, waited for if need be. */
export async function readMessages(parts: ThreadParts, threadRowId: number, page: Page) {
  const { database } = parts
  const { after, limit } = page
  const deadline = performance.now() + page.waitMs
  for (;;) {
    const word = await hearing(parts, threadRowId, page)
    try {
      const reach = await threadLog.listReach(database, [threadRowId])
      const rows = await listNext(database.db, threadRowId, { after, types: said, limit: limit + 1 })
      const isOver = performance.now() >= deadline || page.signal.aborted
      if (rows.length > 0 || isOver) return describePage(rows, limit, reach.get(threadRowId)?.last ?? 0)
      await word.heard(Math.min(lookEveryMs, deadline - performance.now()))
    } finally {
      word.leave()
    }
  }
}

/** Heard from before the look, so that nothing in between is missed. */
async function hearing({ redis }: ThreadParts, threadRowId: number, { waitMs, signal }: Page) {
  if (waitMs === 0) return { heard: async () => {}, leave: () => {} }
  const { promise, resolve } = Promise.withResolvers<void>()
  const leave = redis.subscribe(threadLog.channel(threadRowId), () => resolve())
  await redis.subscribed()
  return {
    heard: async (ms: number) => {
      const timer = setTimeout(resolve, ms)
      signal.addEventListener('abort', () => resolve(), { once: true })
      await promise
      clearTimeout(timer)
    },
    leave,
  }
}

function describePage(rows: readonly LoggedEvent[], limit: number, lastSequence: number) {
  const items = rows.slice(0, limit).map(describeMessage)
  const nextCursor = rows.length > limit ? String(items.at(-1)?.sequence ?? 0) : null
  return { items, lastSequence, nextCursor }
}

function describeMessage({ sequence, type, runId, payload, at }: LoggedEvent): ThreadMessage {
  const { messageId, content, author } = JSON.parse(payload) as {
    messageId?: string
    content?: string
    author?: MessageAuthor
  }
  return {
    id: messageId ?? '',
    role: type === 'user.message' ? 'user' : 'agent',
    // Erased, it keeps its place.
    content: content ?? '',
    runId: runId === null ? null : toRunId(runId),
    author: author ?? null,
    sequence,
    at,
  }
}
