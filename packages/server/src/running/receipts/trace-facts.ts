import { createHash } from 'node:crypto'
import type { Receipt } from '@guildhall/contract'
import { canonical } from '#platform/canonical.ts'
import { type findTrace, readTurns, type TraceReading } from '#running/traces/traces.ts'
import type { Facts } from './compose.ts'
import { sha256 } from './compose.ts'
import { describeActor } from './facts.ts'

const turnsAtOnce = 500

type TraceRow = NonNullable<Awaited<ReturnType<typeof findTrace>>>

/** Of a whole trace: its turns as they are now, and what the receipts of all that ran on it say. */
export async function factsOfTrace(
  reading: TraceReading,
  trace: TraceRow,
  bodies: readonly string[],
): Promise<Facts> {
  const { id, workspace_id: workspaceId, user_id: userId, api_key_id: apiKeyId } = trace
  const receipts = bodies.map((body): Receipt => JSON.parse(body))
  const log = await hashTurns(reading, { workspaceId, id })
  const rights = new Map(receipts.flatMap(({ authority }) => authority.map((one) => [canonical(one), one])))
  const actor = { workspaceId, userId, apiKeyId, oauthGrantId: null }
  return {
    workspaceId,
    subject: `${id}.${log.sha256.slice(0, 16)}`,
    traceId: id,
    traceKey: trace.trace_key,
    actor: await describeActor(reading.database.db, actor, trace.agent_slug),
    what: {
      kind: 'trace',
      receipts: receipts.map((receipt, index) => ({ id: receipt.id, sha256: sha256(bodies[index] ?? '') })),
    },
    authority: [...rights.values()],
    approvals: receipts.flatMap(({ approvals }) => approvals),
    costMilliDs: trace.total_cost_milli_ds,
    ledger: receipts.flatMap(({ cost }) => cost.ledger),
    outputs: receipts.flatMap(({ outputs }) => outputs),
    started: trace.started_at,
    ended: trace.last_activity_at,
    stopReason: trace.status,
    log,
    redactions: receipts.reduce((sum, { redactions }) => sum + redactions, 0),
  }
}

async function hashTurns(reading: TraceReading, trace: { workspaceId: string; id: string }) {
  const hash = createHash('sha256')
  let events = 0
  for (let afterSeq = 0; ; ) {
    const page = await readTurns(reading, trace, { afterSeq, limit: turnsAtOnce })
    const last = page?.items.at(-1)
    if (!page || !last) return { events, sha256: hash.digest('hex') }
    for (const { seq, type, payload } of page.items) hash.update(`${seq} ${type} ${canonical(payload)}\n`)
    events += page.items.length
    afterSeq = last.seq
  }
}
