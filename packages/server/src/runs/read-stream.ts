import { runStreamRoutes } from '@guildhall/contract'
import { type EventStream, EventStreamHolder } from '../http/sse.ts'
import type { EventsAnswer } from '../operations/answer.ts'
import type { BoundRoute, Call } from '../operations/bind.ts'
import { bindRoutes } from '../operations/bind.ts'
import { ApiError } from '../operations/errors.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { Sockets } from '../sockets/sockets.ts'
import { runChannel } from './announce.ts'
import { type RoomParts, RunRooms } from './read-rooms.ts'

type Parts = RoomParts & {
  readonly sockets: Sockets
  readonly metrics: Metrics
  readonly stopping: AbortSignal
}

/**
 * The streams of runs in this process: the state of a run as it is, then each that follows. A stream ends where a run
 * stands still, with its credential, and when the process stops.
 */
export function runStreams(parts: Parts): { routes: BoundRoute[]; close(): Promise<void> } {
  const holder = new EventStreamHolder(parts.metrics)
  const rooms = new RunRooms(parts)
  return {
    routes: bindRoutes(runStreamRoutes, {
      streamWorkflowRun: (call) => openStream(parts, holder, rooms, call),
    }),
    close: () => holder.close(),
  }
}

/**
 * The credential is asked for first and the run read last, so that the one read is of the run as it is when the stream
 * begins; word of a change that comes in between is kept.
 */
async function openStream(
  { bus, sockets, stopping }: Parts,
  holder: EventStreamHolder,
  rooms: RunRooms,
  { principal, params }: Call<(typeof runStreamRoutes)['streamWorkflowRun']>,
): Promise<EventsAnswer> {
  const { runId } = params
  if (holder.closing || stopping.aborted) throw new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 1 })
  await holder.turn()
  const { kind, credentialId, userId, workspaceId } = principal
  let isOver = false
  let stream: EventStream | undefined
  const held = await sockets.holdStream({ kind, credentialId, userId, workspaceId }, () => {
    isOver = true
    stream?.end()
  })
  if (!held) throw new ApiError('UNAUTHORIZED')
  let isOld = false
  const stopListening = bus.listen(runChannel(runId), () => {
    isOld = true
  })
  const abandon = () => {
    stopListening()
    held.release()
  }
  const found = await rooms.find(workspaceId, runId).catch((error: unknown) => {
    abandon()
    throw error
  })
  if (!found) {
    abandon()
    throw new ApiError('NOT_FOUND')
  }
  return {
    abandon,
    open: (connection) => {
      if (isOver) {
        abandon()
        throw new ApiError('UNAUTHORIZED')
      }
      let leave: (() => void) | undefined
      stream = holder.open(connection, () => {
        held.release()
        leave?.()
      })
      leave = rooms.join(workspaceId, runId, found, stream)
      stopListening()
      if (isOld) rooms.look(runId)
    },
  }
}
