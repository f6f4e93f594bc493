import type { Db, Tx } from '#platform/database.ts'
import type { ProducerKind } from '#platform/tables.ts'
import type { EventRange, RangedEvent, Reach } from '#streams/streams.ts'
import * as store from './store.ts'

/** What is above traces and has logs of its own says by this how they are read. */
export interface TurnSource {
  listReach(db: Db, rowIds: readonly number[]): Promise<ReadonlyMap<number, Reach>>
  /** Events of these types in these ranges, in order within each producer. */
  listEvents(db: Db, ranges: readonly EventRange[], types: readonly string[]): Promise<RangedEvent[]>
  /** Those of the producers whose logs are still there. */
  listKept(db: Db, rowIds: readonly number[]): Promise<ReadonlySet<number>>
  /** Leaves of one event its number and type. */
  erase(tx: Tx, rowId: number, sequence: number): Promise<void>
  /** Calls back when a log may have grown; gives what ends it. */
  listen(rowId: number, heard: () => void): () => void
}

/** By kind of producer; a kind that nothing reads produces nothing. */
export type TurnSources = Readonly<Partial<Record<ProducerKind, TurnSource>>>

type ReachedProducer = store.OpenProducer & Reach

/**
 * The numbers that producers' new events get: behind all that were given before, one producer after the other. Pure. A
 * piece that would go on where the last one ended makes that one longer.
 */
export function planCatalogue(
  lastSeq: number,
  lastPiece: store.Piece | undefined,
  producers: readonly ReachedProducer[],
): store.CatalogueChange | undefined {
  const changed = producers.filter(({ last, indexedThrough, ended }) => last > indexedThrough || ended)
  if (changed.length === 0) return undefined
  const pieces: store.Piece[] = []
  let seq = lastSeq
  let previous = lastPiece
  for (const { id, indexedThrough, last } of changed) {
    if (last <= indexedThrough) continue
    const first = { firstSeq: seq + 1, producerId: id, firstEvent: indexedThrough + 1 }
    const start = previous?.lastSeq === seq && previous.producerId === id ? previous : first
    seq += last - indexedThrough
    previous = { ...start, lastSeq: seq }
    pieces.push(previous)
  }
  return {
    lastSeq: seq,
    pieces,
    producers: changed.map(({ id, indexedThrough, last, ended }) => ({
      id,
      indexedThrough: Math.max(indexedThrough, last),
      done: ended,
    })),
  }
}

/** Whether reading would have to give out numbers first. */
export async function isBehind(
  db: Db,
  sources: TurnSources,
  open: readonly store.OpenProducer[],
): Promise<boolean> {
  const reached = await reachOf(db, sources, open)
  return reached.some(({ last, indexedThrough, ended }) => last > indexedThrough || ended)
}

/**
 * Gives numbers to all that producers have written so far, under the lock of the trace's row. A number is given once and
 * never again, and whatever comes later gets a higher one: so who has read up to a number has missed nothing below it.
 * Producers' rows are read and not held. Undefined when there is no such trace here.
 */
export async function catalogueLocked(
  tx: Tx,
  sources: TurnSources,
  workspaceId: string,
  traceId: string,
): Promise<{ lastSeq: number; appendedTurns: number } | undefined> {
  const trace = await store.lockTrace(tx, workspaceId, traceId)
  if (!trace) return undefined
  const { last_seq: before, appended_turns: appendedTurns } = trace
  const open = await store.listOpenProducers(tx, traceId)
  if (open.length === 0) return { lastSeq: before, appendedTurns }
  const reached = await reachOf(tx, sources, open)
  const change = planCatalogue(before, await store.findLastPiece(tx, traceId), reached)
  if (change) await store.updateCatalogue(tx, traceId, change)
  return { lastSeq: change?.lastSeq ?? before, appendedTurns }
}

/** A producer that is gone has ended where it was last seen. */
async function reachOf(
  db: Db,
  sources: TurnSources,
  open: readonly store.OpenProducer[],
): Promise<ReachedProducer[]> {
  const reached: ReachedProducer[] = []
  for (const [kind, source] of Object.entries(sources)) {
    const own = open.filter((producer) => producer.kind === kind)
    if (own.length === 0) continue
    const known = await source.listReach(
      db,
      own.map(({ rowId }) => rowId),
    )
    for (const producer of own) {
      const { last, ended } = known.get(producer.rowId) ?? { last: producer.indexedThrough, ended: true }
      reached.push({ ...producer, last, ended })
    }
  }
  return reached.sort((a, b) => a.id - b.id)
}
