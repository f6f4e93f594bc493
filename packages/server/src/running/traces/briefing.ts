import type { Deps } from '#platform/deps.ts'
import { Brief, type BriefedTrace } from './brief.ts'
import type { Looking } from './looking.ts'
import { readTurns, type TraceReading } from './read.ts'
import { Redactor } from './redact.ts'
import { briefRules } from './redaction-rules.ts'
import * as store from './store.ts'
import { turnPages } from './turn-pages.ts'

/** A brief is asked for often, and a trace may be long: of one that is, its beginning and its end are read. */
const beginning = 100
const ending = 3000

type BriefParts = TraceReading & Pick<Deps, 'config'>

export interface BriefSubject extends BriefedTrace {
  readonly workspaceId: string
}

/** What a brief is about. */
export async function findSubject(
  { database: { db } }: TraceReading,
  workspaceId: string,
  id: string,
): Promise<BriefSubject | undefined> {
  const row = await store.findTrace(db, workspaceId, id)
  if (!row) return undefined
  const { kind, title, status, trace_key: traceKey } = row
  return { id, workspaceId, kind, title, status, traceKey }
}

/** What somebody needs who goes on with a trace, up to a number if one is given. */
export async function briefTrace(
  parts: BriefParts,
  trace: BriefSubject,
  looking: Looking,
  before = Number.POSITIVE_INFINITY,
): Promise<{ markdown: string; throughSeq: number; artifactId: string | undefined }> {
  // Numbers are given by looking.
  const known = await readTurns(parts, trace, { afterSeq: 0, limit: 1 })
  const throughSeq = Math.min(known?.lastSeq ?? 0, before - 1)
  const redactor = new Redactor(await briefRules(parts, trace.id), looking.pace)
  const brief = new Brief()
  for (const stretch of stretchesOf(throughSeq)) {
    for await (const page of looking.through(turnPages(parts, trace, stretch))) {
      for (const turn of page) {
        const shown = await redactor.push(turn)
        if (shown) brief.add(shown)
      }
    }
  }
  const last = redactor.end()
  if (last) brief.add(last)
  const { id, kind, status, traceKey } = trace
  const markdown = brief.markdown({ id, kind, status, traceKey, title: redactor.text(trace.title) })
  return { markdown, throughSeq: brief.throughSeq, artifactId: brief.producedIn }
}

function stretchesOf(throughSeq: number) {
  const from = throughSeq - ending
  if (from <= beginning) return [{ afterSeq: 0, throughSeq }]
  return [
    { afterSeq: 0, throughSeq: beginning },
    { afterSeq: from, throughSeq },
  ]
}
