import { ApiError } from '#operations/errors.ts'
import type { KeptTurn } from './kept-turn.ts'
import { readTurns, type TraceReading } from './read.ts'
import { findReach } from './store.ts'

const leastPage = 50
const mostPage = 1000
/** What a page should hold: enough to be worth a question, little enough to be held many times over. */
const pageBytes = 1024 * 1024

interface Stretch {
  readonly afterSeq?: number
  readonly throughSeq?: number
}

/**
 * The turns of a trace, page by page, up to the last number that was given when it began. Pages of large turns have
 * fewer of them, so that what is held at a time does not depend on who wrote them.
 */
export async function* turnPages(
  reading: TraceReading,
  trace: { readonly workspaceId: string; readonly id: string },
  { afterSeq = 0, throughSeq }: Stretch = {},
): AsyncGenerator<readonly KeptTurn[]> {
  const first = await readTurns(reading, trace, { afterSeq, limit: leastPage })
  const last = throughSeq ?? first?.lastSeq ?? 0
  let limit = leastPage
  let coming = Promise.resolve(first)
  for (;;) {
    const page = await coming
    // Deleted meanwhile: what was read so far is not the whole, and must not be taken for it.
    if (!page) throw new ApiError('NOT_FOUND')
    const after = page.items.at(-1)?.seq
    const items = page.items.filter(({ seq }) => seq <= last)
    limit = nextLimit(limit, items)
    // A short page is one of large turns; only an empty one is the end.
    const isMore = after !== undefined && after < last
    // Read while this one is written. Who stops here leaves it, and what it says then is nobody's matter.
    if (isMore) coming = readTurns(reading, trace, { afterSeq: after, limit })
    coming.catch(() => {})
    if (items.length > 0) yield items
    if (isMore) continue
    // It may have gone between two statements of a page, which then looks like the last one.
    if (!(await findReach(reading.database.db, trace.workspaceId, trace.id))) throw new ApiError('NOT_FOUND')
    return
  }
}

function nextLimit(limit: number, items: readonly KeptTurn[]): number {
  const bytes = Math.max(0, ...items.map(({ text }) => text.length))
  const wanted = Math.floor(pageBytes / Math.max(bytes, 256))
  // Grows by doubling: one small turn among large ones says little.
  return Math.max(leastPage, Math.min(mostPage, wanted, limit * 2))
}
