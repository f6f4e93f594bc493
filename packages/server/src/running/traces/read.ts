import type { Database } from '#platform/database.ts'
import type { EventRange } from '#streams/streams.ts'
import { catalogueLocked, isBehind, type TurnSources } from './catalogue.ts'
import { KeptTurn } from './kept-turn.ts'
import type { Numbering } from './numbering.ts'
import * as store from './store.ts'
import { turnEvents, turnOf } from './turns.ts'

/** What reading a trace takes. */
export interface TraceReading {
  readonly database: Database
  readonly sources: TurnSources
  readonly numbering: Numbering
}

interface TurnPage {
  readonly items: KeptTurn[]
  /** The highest number that was given so far. */
  readonly lastSeq: number
  /** Turns of a producer up to here are no longer kept. */
  readonly expiredThroughSeq: number | undefined
}

const piecesPerRead = 200
/** Of what was appended: anybody can append large turns, and a page is held whole by who answers. */
const pageBytes = 4 * 1024 * 1024
/** Not every event is a turn: more are read than are wanted, and at least so many. */
const leastEvents = 200

/**
 * The turns after a number, in order, fewer than `limit` when they are large, and none only at the end; undefined when
 * there is no such trace here. Go on after the last one's number: what comes later is always higher. Writes only if a
 * producer has written since the last look, and nothing for a trace whose producers have ended.
 */
export async function readTurns(
  { database, sources, numbering }: TraceReading,
  trace: { readonly workspaceId: string; readonly id: string },
  { afterSeq, limit }: { readonly afterSeq: number; readonly limit: number },
): Promise<TurnPage | undefined> {
  const { workspaceId, id } = trace
  const reach = await store.findReach(database.db, workspaceId, id)
  if (!reach) return undefined
  let { lastSeq } = reach
  if (reach.open.length > 0 && (await isBehind(database.db, sources, reach.open))) {
    const known = await numbering.shared(trace, () =>
      database.transaction((tx) => catalogueLocked(tx, sources, workspaceId, id)),
    )
    if (!known) return undefined
    lastSeq = known.lastSeq
  }
  const items: KeptTurn[] = []
  let expiredThroughSeq: number | undefined
  let bytes = pageBytes
  for (let after = afterSeq; items.length < limit && bytes > 0 && after < lastSeq; ) {
    const stretch = await readStretch(database, sources, id, {
      after,
      lastSeq,
      most: limit - items.length,
      bytes,
    })
    items.push(...stretch.items)
    expiredThroughSeq = stretch.expiredThrough ?? expiredThroughSeq
    after = stretch.through
    bytes -= stretch.bytes
  }
  return { items, lastSeq, expiredThroughSeq }
}

/** As far as one look at the catalogue, at what was appended, and at the producers' logs goes. */
async function readStretch(
  { db }: Database,
  sources: TurnSources,
  traceId: string,
  { after, lastSeq, most, bytes }: { after: number; lastSeq: number; most: number; bytes: number },
) {
  const span = { after, through: lastSeq }
  // At once: of the pieces those that lie behind a full page of what was appended are left for the next stretch.
  const [appended, listed] = await Promise.all([
    store.listAppended(db, traceId, { ...span, most, bytes }),
    store.listPieces(db, traceId, { ...span, most: piecesPerRead }),
  ])
  const isAll = appended.length < most && appended.reduce((sum, turn) => sum + turn.bytes, 0) < bytes
  const appendedThrough = isAll ? lastSeq : (appended.at(-1)?.seq ?? lastSeq)
  const found = upTo(listed, appendedThrough)
  const pieces = cut(found, after, Math.max(most * 2, leastEvents))
  const isFound = listed.length < piecesPerRead || found.length < listed.length
  const isWhole = isFound && pieces.at(-1)?.lastSeq === found.at(-1)?.lastSeq
  const through = isWhole ? appendedThrough : (pieces.at(-1)?.lastSeq ?? appendedThrough)
  const { turns, expired } = await readPieces(db, sources, pieces)
  let taken = 0
  for (const { seq, type, payload, agent_slug, at, bytes: size } of appended) {
    if (seq > through) break
    taken += size
    turns.push(new KeptTurn({ seq, type, actorAgentSlug: agent_slug, at, origin: 'appended' }, payload))
  }
  const items = turns.sort((a, b) => a.seq - b.seq).slice(0, most)
  // What lies behind a full page is told of by the page that comes to it.
  const shownThrough = turns.length > most ? (items.at(-1)?.seq ?? through) : through
  const expiredThrough = expired.findLast((seq) => seq <= shownThrough)
  return { items, through, expiredThrough, bytes: taken }
}

function upTo(pieces: readonly store.ProducedPiece[], through: number): store.ProducedPiece[] {
  return pieces
    .filter(({ firstSeq }) => firstSeq <= through)
    .map((piece) => (piece.lastSeq <= through ? piece : { ...piece, lastSeq: through }))
}

/** What of the pieces lies behind a number, and no more events than are to be read. */
function cut(pieces: readonly store.ProducedPiece[], after: number, events: number): store.ProducedPiece[] {
  const taken: store.ProducedPiece[] = []
  let left = events
  for (const piece of pieces) {
    if (left <= 0) break
    const skipped = Math.max(0, after + 1 - piece.firstSeq)
    const firstSeq = piece.firstSeq + skipped
    const lastSeq = Math.min(piece.lastSeq, firstSeq + left - 1)
    taken.push({ ...piece, firstSeq, lastSeq, firstEvent: piece.firstEvent + skipped })
    left -= lastSeq - firstSeq + 1
  }
  return taken
}

async function readPieces(
  db: Database['db'],
  sources: TurnSources,
  pieces: readonly store.ProducedPiece[],
): Promise<{ turns: KeptTurn[]; expired: number[] }> {
  const turns: KeptTurn[] = []
  const expired: number[] = []
  for (const [kind, source] of Object.entries(sources)) {
    const own = pieces.filter((piece) => piece.kind === kind)
    if (own.length === 0) continue
    const events = await source.listEvents(db, own.map(rangeOf), turnEvents)
    const byRow = Map.groupBy(events, ({ rowId }) => rowId)
    const silent = own.filter(({ rowId }) => !byRow.has(rowId))
    const kept =
      silent.length > 0
        ? await source.listKept(
            db,
            silent.map(({ rowId }) => rowId),
          )
        : undefined
    for (const piece of own) {
      const { rowId, firstSeq, lastSeq, firstEvent, agentSlug } = piece
      if (kept && !byRow.has(rowId) && !kept.has(rowId)) expired.push(lastSeq)
      const lastEvent = firstEvent + lastSeq - firstSeq
      for (const { sequence, type, payload, at } of byRow.get(rowId) ?? []) {
        if (sequence < firstEvent || sequence > lastEvent) continue
        const turn = turnOf(type, payload)
        if (!turn) continue
        const seq = firstSeq + sequence - firstEvent
        const about = { seq, type: turn.type, actorAgentSlug: agentSlug, at, origin: 'producer' } as const
        turns.push(new KeptTurn(about, turn.payload))
      }
    }
  }
  return { turns, expired: expired.sort((a, b) => a - b) }
}

function rangeOf({ rowId, firstSeq, lastSeq, firstEvent }: store.ProducedPiece): EventRange {
  return { rowId, first: firstEvent, last: firstEvent + lastSeq - firstSeq }
}
