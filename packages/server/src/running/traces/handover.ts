import { randomUUID } from 'node:crypto'
import { type Handover, handoverLimits } from '@guildhall/contract'
import { guessCode } from '#access/activation/activation.ts'
import { isMember } from '#accounts/workspaces/workspaces.ts'
import { ApiError } from '#operations/errors.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { hmac, type KeyRing, withoutSecrets } from '#platform/secrets.ts'
import { mintUserCode } from '#platform/user-code.ts'
import { appendTurns, requireRoom } from './append.ts'
import { insertCopy, readCopy } from './handover-copy.ts'
import * as handovers from './handover-store.ts'
import type { Looking } from './looking.ts'
import type { TraceReading } from './read.ts'
import * as store from './store.ts'

/** Whoever gives work away or takes it over. */
export interface Party {
  readonly workspaceId: string
  readonly userId: string
  readonly apiKeyId: number | null
  readonly agentSlug: string | null
}

export type HandoverParts = TraceReading & Deps

interface Offer {
  readonly note: string | null
  readonly reach: 'workspace' | 'person'
  readonly toAgentSlug: string | null
  readonly expiresInSeconds: number
}

/** A code is short enough to be said aloud, so what is stored of it is of no use without a key of ours. */
function hashesOf(ring: KeyRing, code: string): Buffer[] {
  return [...ring.keys.keys()].map((version) => hmac(ring, version, `handover.${code}`))
}

export async function createHandover(tx: Tx, ring: KeyRing, party: Party, traceId: string, offer: Offer) {
  const trace = await store.lockTrace(tx, party.workspaceId, traceId)
  if (!trace) throw new ApiError('NOT_FOUND')
  const limit = handoverLimits.pending
  if ((await handovers.countPending(tx, traceId)) >= limit) {
    const message = `At most ${limit} codes of one trace at a time; revoke one, or wait until one has expired`
    throw new ApiError('CONFLICT', { message, details: { limit } })
  }
  const id = `handover_${randomUUID()}`
  for (;;) {
    const code = mintUserCode()
    const made = await handovers.insertHandover(tx, {
      id,
      traceId,
      workspaceId: party.workspaceId,
      codeHash: hmac(ring, ring.current, `handover.${code}`),
      reach: offer.reach,
      note: offer.note === null ? null : withoutSecrets(offer.note),
      toSlug: offer.toAgentSlug,
      userId: party.userId,
      apiKeyId: party.apiKeyId,
      agentSlug: party.agentSlug,
      seconds: offer.expiresInSeconds,
    })
    if (made) return { handoverId: id, code, reach: offer.reach, expiresAt: made.expires_at }
  }
}

export interface PickedUp {
  readonly traceId: string
  readonly note: string | null
  readonly copied: boolean
}

/**
 * A code is guessed at under the same budget as all codes. Then, in one transaction: the claim, which one of all who try
 * wins, the baton, and two turns that tell of it; so nobody holds work whose trace does not say so, whoever is killed
 * when. The trace's row is locked first, as by everything that appends, and the person's row is not held meanwhile.
 */
export async function pickUp(
  parts: HandoverParts,
  by: Party,
  typedCode: string,
  looking: Looking,
  right: {
    /** Refuses who may not have what the code stands for; nothing has changed by then. */
    require(found: handovers.HandoverRow): Promise<void>
    spend(tx: Tx): Promise<void>
  },
): Promise<PickedUp> {
  const { database, config, sources, numbering } = parts
  const found = await guessCode(parts, by.userId, typedCode, async (tx, code) => {
    const row = await handovers.findByCode(tx, hashesOf(config.keyPeppers, code), by)
    return row && (await mayReach(tx, row, by)) ? row : undefined
  })
  if (found.status !== 'pending' || found.expired)
    throw (await isYours(database.db, found, by)) ?? isOver(found)
  await right.require(found)
  const isCopy = found.workspace_id !== by.workspaceId
  const copy = isCopy ? await readCopy(parts, found, by, looking) : undefined
  const copyId = isCopy ? `trace_${randomUUID()}` : null
  const source = { ...by, workspaceId: found.workspace_id }
  const claim = async (tx: Tx) => {
    // Locks the trace.
    await appendTurns(tx, sources, source, found.trace_id, turnsOf(found, by, isCopy))
    if (!(await handovers.claimHandover(tx, found.id, by, copyId)))
      throw isOver({ ...found, status: 'claimed' })
    await right.spend(tx)
    // Reading the copy took a while.
    if (!(await mayReach(tx, found, by))) throw new ApiError('NOT_FOUND')
    if (copyId === null) await store.updateHolder(tx, found.trace_id, by)
    else if (copy) await insertCopy(tx, copyId, by, copy)
    await requireRoom(tx, config, by.workspaceId)
  }
  const trace = { workspaceId: found.workspace_id, id: found.trace_id }
  await numbering.alone(trace, () => database.transaction(claim))
  return { traceId: copyId ?? found.trace_id, note: found.note, copied: isCopy }
}

/** Whoever has claimed it and asks again has not heard the answer: it is told what it has, where it can be read. */
async function isYours(db: Db, found: handovers.HandoverRow, by: Party): Promise<ApiError | undefined> {
  if (found.claimed_by_user !== by.userId || found.claimed_by_key !== by.apiKeyId) return undefined
  const traceId = found.copy_trace_id ?? found.trace_id
  if (!(await store.findTrace(db, by.workspaceId, traceId))) return undefined
  const message = `You have claimed this code; go on with GET /api/v1/traces/${traceId}/brief`
  return new ApiError('CONFLICT', { message, details: { status: found.status, traceId } })
}

/** Who was removed from a workspace has no use for a code that they made there. */
async function mayReach(tx: Tx, found: handovers.HandoverRow, by: Party): Promise<boolean> {
  return found.workspace_id === by.workspaceId || isMember(tx, found.workspace_id, by.userId)
}

/** What the trace itself says of it, in the words of a tool. */
function turnsOf(found: handovers.HandoverRow, by: Party, isCopy: boolean) {
  const input = {
    note: found.note,
    reach: found.reach,
    from: { apiKeyId: found.created_by_key, agentSlug: found.created_by_slug },
    toAgentSlug: found.to_slug,
  }
  const output = isCopy ? 'A copy was picked up in another workspace' : 'Picked up'
  const holder = { apiKeyId: by.apiKeyId, agentSlug: by.agentSlug }
  return [
    { type: 'tool.call' as const, payload: { name: 'handover', toolUseId: found.id, input } },
    {
      type: 'tool.result' as const,
      payload: {
        toolUseId: found.id,
        name: 'handover',
        isError: false,
        output,
        ...(isCopy ? {} : { holder }),
      },
    },
  ]
}

export function isOver({ status, expired }: Pick<handovers.HandoverRow, 'status' | 'expired'>): ApiError {
  const state = expired ? 'expired' : status
  const message = `This code is no longer pending: it is ${state}. Ask for a new one`
  return new ApiError('CONFLICT', { message, details: { status: state } })
}

export function describeHandover(row: handovers.HandoverRow): Handover {
  return {
    handoverId: row.id,
    reach: row.reach,
    status: row.expired ? 'expired' : row.status,
    note: row.note,
    toAgentSlug: row.to_slug,
    from: { userId: row.created_by_user, apiKeyId: row.created_by_key, agentSlug: row.created_by_slug },
    claimedBy:
      row.claimed_by_user === null
        ? null
        : { userId: row.claimed_by_user, apiKeyId: row.claimed_by_key, agentSlug: row.claimed_by_slug },
    claimedAt: row.claimed_at,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}
