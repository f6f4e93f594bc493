import { isDeepStrictEqual } from 'node:util'
import { appendLimits, type BodyOf, type traceRoutes } from '@guildhall/contract'
import { ApiError } from '#operations/errors.ts'
import type { Config } from '#platform/config.ts'
import type { Tx } from '#platform/database.ts'
import { withoutSecrets } from '#platform/secrets.ts'
import { catalogueLocked, type TurnSources } from './catalogue.ts'
import * as store from './store.ts'

type NewEvent = BodyOf<(typeof traceRoutes)['appendTraceEvents']>['events'][number]

interface Author {
  readonly workspaceId: string
  readonly userId: string
  readonly apiKeyId: number | null
  readonly agentSlug: string | null
}

/**
 * Appends turns, all or none. Of what is refused, only 409 says that a turn is stored: a number that a producer got, or
 * that a reader has gone past, is 400, because a caller who took that for success would lose the turn.
 */
export async function appendTurns(
  tx: Tx,
  sources: TurnSources,
  author: Author,
  traceId: string,
  events: readonly NewEvent[],
): Promise<{ appended: number; lastSeq: number }> {
  const written = events.map(({ type, payload, seq }) => ({ type, seq, payload: write(payload) }))
  const given = events.flatMap(({ seq }) => seq ?? [])
  refuseNotRising(given)
  const trace = await catalogueLocked(tx, sources, author.workspaceId, traceId)
  if (!trace) throw new ApiError('NOT_FOUND')
  if (given.length > 0) await refuseTaken(tx, traceId, trace.lastSeq, written, given)
  if (trace.appendedTurns + events.length > appendLimits.turnsPerTrace) {
    const limit = appendLimits.turnsPerTrace
    const message = `At most ${limit} turns can be appended to a trace; go on with another one`
    throw new ApiError('INVALID_INPUT', { message, details: { limit } })
  }
  const turns = numbered(trace.lastSeq, written)
  await store.insertTurns(tx, traceId, author, turns)
  return { appended: turns.length, lastSeq: turns.at(-1)?.seq ?? trace.lastSeq }
}

/** For whoever has just appended: a workspace cannot fill the disk of all with its traces. */
export async function requireRoom(
  tx: Tx,
  { quotas }: Pick<Config, 'quotas'>,
  workspaceId: string,
): Promise<void> {
  const limit = quotas.traceBytes
  if ((await store.findAppendedBytes(tx, workspaceId)) <= limit) return
  const message = `At most ${limit} bytes can be appended to the traces of a workspace; ask its operator for more`
  throw new ApiError('INVALID_INPUT', { message, details: { limit } })
}

interface WrittenEvent {
  readonly type: NewEvent['type']
  readonly payload: string
  readonly seq: number | undefined
}

/** As it is kept: a secret of ours is not, whoever put it there. */
function write(payload: NewEvent['payload']): string {
  const text = withoutSecrets(JSON.stringify(payload))
  const limit = appendLimits.payloadBytes
  if (Buffer.byteLength(text) <= limit) return text
  throw new ApiError('INVALID_INPUT', { message: `payload: at most ${limit} bytes`, details: { limit } })
}

/** Before any is looked up: of two turns with one number, that the one is stored would be taken for both. */
function refuseNotRising(given: readonly number[]): void {
  const low = given.find((seq, index) => seq <= (given[index - 1] ?? 0))
  if (low !== undefined) throw notRising(low)
}

function notRising(seq: number): ApiError {
  const message = 'seq: numbers must rise within a request'
  return new ApiError('INVALID_INPUT', { message, details: { reason: 'SEQ_NOT_RISING', seq } })
}

async function refuseTaken(
  tx: Tx,
  traceId: string,
  lastSeq: number,
  written: readonly WrittenEvent[],
  given: readonly number[],
): Promise<void> {
  const taken = await store.listTaken(tx, traceId, given)
  if (taken.length > 0) {
    const conflicts = taken.map(({ seq, type, payload, agent_slug: actorAgentSlug }) => {
      const sent = written.find((event) => event.seq === seq)
      const same = sent !== undefined && sent.type === type && isSame(sent.payload, payload)
      return { seq, same, actorAgentSlug }
    })
    const message = 'Turns with these numbers are stored already: what is the same has landed'
    throw new ApiError('CONFLICT', { message, details: { lastSeq, conflicts } })
  }
  if (given.some((seq) => seq <= lastSeq)) {
    const message = `seq: must be above ${lastSeq}, the last number given; nothing was stored. Leave it out to get the next one`
    throw new ApiError('INVALID_INPUT', { message, details: { reason: 'SEQ_NOT_ABOVE_LAST', lastSeq } })
  }
}

/** Whatever order its fields are in. */
function isSame(sent: string, stored: string): boolean {
  return sent === stored || isDeepStrictEqual(JSON.parse(sent), JSON.parse(stored))
}

/** Those without a number take the next one. */
function numbered(lastSeq: number, written: readonly WrittenEvent[]): store.NewTurn[] {
  let last = lastSeq
  return written.map(({ type, payload, seq = last + 1 }) => {
    if (seq <= last) throw notRising(seq)
    if (seq > lastSeq + appendLimits.seqLeap) {
      const message = `seq: at most ${appendLimits.seqLeap} above ${lastSeq}, the last number given`
      throw new ApiError('INVALID_INPUT', { message, details: { reason: 'SEQ_TOO_HIGH', lastSeq } })
    }
    last = seq
    return { seq, type, payload }
  })
}
