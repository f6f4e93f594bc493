import { randomUUID } from 'node:crypto'
import { handoverLimits, type TurnType } from '@guildhall/contract'
import { ApiError } from '#operations/errors.ts'
import type { Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import type { TraceKind } from '#platform/tables.ts'
import type { Claimant, HandoverRow } from './handover-store.ts'
import type { Looking } from './looking.ts'
import type { TraceReading } from './read.ts'
import { Redactor, type Turn } from './redact.ts'
import { exportRules } from './redaction-rules.ts'
import * as store from './store.ts'
import { turnPages } from './turn-pages.ts'

type CopyParts = TraceReading & Pick<Deps, 'config'>
type Source = Pick<HandoverRow, 'workspace_id' | 'trace_id'>

interface Copy {
  readonly kind: TraceKind
  readonly title: string
  /** Payloads as JSON: all at once it would be written in one go. */
  readonly turns: readonly { readonly type: TurnType; readonly payload: string }[]
}

/** For a trace that goes to another workspace: as an export of it would be, and not too long for one transaction. */
export async function readCopy(
  parts: CopyParts,
  found: Source,
  by: Claimant,
  looking: Looking,
): Promise<Copy> {
  const trace = { workspaceId: found.workspace_id, id: found.trace_id }
  const row = await store.findTrace(parts.database.db, trace.workspaceId, trace.id)
  if (!row) throw new ApiError('NOT_FOUND')
  const redactor = new Redactor(await exportRules(parts, trace.id, [row.user_id, by.userId]), looking.pace)
  const title = `Copy of: ${redactor.text(row.title)}`.slice(0, 120)
  const turns: Copy['turns'][number][] = []
  const keep = async (shown: Turn | undefined) => {
    if (!shown) return
    const payload = JSON.stringify(shown.payload)
    await looking.pace.spend(payload.length)
    turns.push({ type: shown.type as TurnType, payload })
  }
  const { copiedTurns: limit, copiedBytes: limitBytes } = handoverLimits
  let bytes = 0
  for await (const page of looking.through(turnPages(parts, trace))) {
    for (const turn of page) {
      await keep(await redactor.push(turn))
      bytes += JSON.stringify(turn.payload).length
    }
    if (bytes > limitBytes) {
      const message = `A trace of more than ${limitBytes} bytes is not copied; export it instead`
      throw new ApiError('INVALID_INPUT', { message, details: { limitBytes } })
    }
    if (turns.length < limit) continue
    const message = `A trace of more than ${limit} turns is not copied; export it instead`
    throw new ApiError('INVALID_INPUT', { message, details: { limit } })
  }
  await keep(redactor.end())
  // What was said in a conversation stays for those alone who may have part in one.
  const { kind } = row
  return { kind, title, turns }
}

const turnsPerInsert = 500

/** A trace of its own: nothing of it leads back to where it came from. */
export async function insertCopy(
  tx: Tx,
  id: string,
  by: Claimant,
  { kind, title, turns }: Copy,
): Promise<void> {
  await store.insertTrace(tx, {
    id,
    workspace_id: by.workspaceId,
    kind,
    title,
    status: 'idle',
    user_id: by.userId,
    api_key_id: by.apiKeyId,
    agent_slug: by.agentSlug,
    execution_id: null,
    trace_key: `lineage_${randomUUID()}`,
    parent_trace_id: null,
  })
  for (let i = 0; i < turns.length; i += turnsPerInsert) {
    const written = turns.slice(i, i + turnsPerInsert).map(({ type, payload }, n) => ({
      seq: i + n + 1,
      type,
      payload,
    }))
    await store.insertTurns(tx, id, by, written)
  }
  await store.updateHolder(tx, id, by)
}
