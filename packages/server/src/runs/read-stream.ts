import { runStreamRoutes } from '@guildhall/contract'
import type { RawCall, RawRoute } from '../http/raw-route.ts'
import { type EventStream, EventStreamHolder } from '../http/sse.ts'
import { ApiError } from '../operations/errors.ts'
import type { Metrics } from '../platform/metrics.ts'
import { runChannel } from './announce.ts'
import { type RoomParts, RunRooms } from './read-rooms.ts'

type Parts = RoomParts & { readonly metrics: Metrics; readonly stopping: AbortSignal }

/**
 * The streams of runs in this process: the state of a run as it is, then each that follows. A stream ends where a run
 * stands still, with its credential, and when the process stops.
 */
export function runStreamRoute(parts: Parts): RawRoute {
  const holder = new EventStreamHolder(parts.metrics)
  const rooms = new RunRooms(parts)
  return {
    name: 'streamWorkflowRun',
    method: 'GET',
    path: runStreamRoutes.streamWorkflowRun.path,
    contract: runStreamRoutes.streamWorkflowRun,
    limits: ['stream'],
    handle: (call) => openStream(parts, holder, rooms, call),
    close: () => holder.close(),
  }
}

/**
 * The credential is asked for first and the run read last, so that the one read is of the run as it is when the stream
 * begins; word of a change that comes in between is kept.
 */
async function openStream(
  { live, stopping }: Parts,
  holder: EventStreamHolder,
  rooms: RunRooms,
  call: RawCall,
): Promise<void> {
  const { principal, params, response } = call
  const runId = params['runId'] ?? ''
  if (!principal) throw new ApiError('UNAUTHORIZED')
  if (holder.closing || stopping.aborted) throw new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 1 })
  await holder.turn()
  const { kind, credentialId, userId, workspaceId } = principal
  let isOver = false
  let stream: EventStream | undefined
  const held = await live.holdStream({ kind, credentialId, userId, workspaceId }, () => {
    isOver = true
    stream?.end()
  })
  if (!held) throw new ApiError('UNAUTHORIZED')
  let isOld = false
  const stopListening = live.listen(runChannel(runId), () => {
    isOld = true
  })
  try {
    const found = await rooms.find(workspaceId, runId)
    if (!found) throw new ApiError('NOT_FOUND')
    if (isOver || response.destroyed) throw new ApiError('UNAUTHORIZED')
    let leave: (() => void) | undefined
    stream = holder.open(call, () => {
      held.release()
      leave?.()
    })
    leave = rooms.join(workspaceId, runId, found, stream)
    if (isOld) rooms.look(runId)
  } catch (error) {
    held.release()
    throw error
  } finally {
    stopListening()
  }
}
