import { ApiError } from '#operations/errors.ts'
import type { Tx } from '#platform/database.ts'
import { catalogueLocked, type TurnSources } from './catalogue.ts'
import * as store from './store.ts'
import { turnEvents, turnOf } from './turns.ts'

/** What stands in the place of a payload that was erased. */
export const erasedPayload = '{"redacted":true}'

/**
 * Takes away what a turn says where it is kept: among what was appended, or in the log of what produced it. Under the lock
 * of the trace's row, as everything that changes a trace.
 */
export async function eraseTurn(
  tx: Tx,
  sources: TurnSources,
  { workspaceId, id }: { readonly workspaceId: string; readonly id: string },
  typed: string,
): Promise<void> {
  const seq = /^[1-9]\d{0,14}$/.test(typed) ? Number(typed) : 0
  const trace = await catalogueLocked(tx, sources, workspaceId, id)
  if (!trace || seq === 0 || seq > trace.lastSeq) throw new ApiError('NOT_FOUND')
  if (await store.updateErased(tx, id, seq, erasedPayload)) return
  const [piece] = await store.listPieces(tx, id, { after: seq - 1, through: seq, most: 1 })
  const source = piece && sources[piece.kind]
  if (!piece || !source) throw new ApiError('NOT_FOUND')
  const sequence = piece.firstEvent + seq - piece.firstSeq
  const range = { rowId: piece.rowId, first: sequence, last: sequence }
  const [event] = await source.listEvents(tx, [range], turnEvents)
  const turn = event && turnOf(event.type, event.payload)
  if (!turn) throw new ApiError('NOT_FOUND')
  // It holds a reason from a closed list and nobody's words, and readers go by it.
  if (turn.type === 'error')
    throw new ApiError('INVALID_INPUT', { message: 'seq: how something ended cannot be erased' })
  await source.erase(tx, piece.rowId, sequence)
}
