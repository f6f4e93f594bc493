import type { Deps } from '#platform/deps.ts'
import { briefTrace } from './briefing.ts'
import { Looking } from './looking.ts'
import { readTurns, type TraceReading } from './read.ts'
import * as store from './store.ts'

/** What goes on with a trace is told of what came before. */
interface EarlierWork {
  /** Markdown. */
  readonly brief: string
  /** What the last run before this one left. */
  readonly artifactId: string | undefined
}

/**
 * What was done on a trace before this execution began to produce turns of it; undefined when it is the first. Files are
 * taken at the word of a producer only: what is appended may name any artifact, and whoever appended it may not read that.
 */
export async function findEarlierWork(
  parts: TraceReading & Pick<Deps, 'config'>,
  trace: { readonly workspaceId: string; readonly id: string },
  executionRowId: number,
): Promise<EarlierWork | undefined> {
  const { db } = parts.database
  if (!(await store.hasEarlierTurns(db, trace.id, executionRowId))) return undefined
  // By looking, the first of its own events gets its number.
  await readTurns(parts, trace, { afterSeq: 0, limit: 1 })
  const row = await store.findTrace(db, trace.workspaceId, trace.id)
  if (!row) return undefined
  const { kind, title, status, trace_key: traceKey } = row
  const before = await store.findFirstSeq(db, trace.id, executionRowId)
  const { markdown, artifactId } = await briefTrace(
    parts,
    { ...trace, kind, title, status, traceKey },
    new Looking(row.user_id),
    before,
  )
  return { brief: markdown, artifactId }
}
