import { runStreamRoutes } from '@guildhall/contract'
import { ApiError } from '../http/api-error.ts'
import type { RawCall, RawRoute } from '../http/raw-route.ts'
import { EventStreamHolder } from '../http/sse.ts'
import type { Metrics } from '../platform/metrics.ts'
import { type RoomParts, RunRooms } from './read-rooms.ts'
import { findVersion } from './read-store.ts'

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

async function openStream(
  { database, live, stopping }: Parts,
  holder: EventStreamHolder,
  rooms: RunRooms,
  call: RawCall,
): Promise<void> {
  const { principal, params, response } = call
  const runId = params['runId'] ?? ''
  if (!principal) throw new ApiError('UNAUTHORIZED')
  if (holder.closing || stopping.aborted) throw new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 1 })
  const { kind, credentialId, userId, workspaceId } = principal
  const found = await findVersion(database, workspaceId, runId)
  if (!found) throw new ApiError('NOT_FOUND')
  const held = await live.holdStream({ kind, credentialId, userId, workspaceId }, () => response.end())
  if (!held || response.destroyed) {
    held?.release()
    throw new ApiError('UNAUTHORIZED')
  }
  let leave: (() => void) | undefined
  const stream = holder.open(call, () => {
    held.release()
    leave?.()
  })
  leave = rooms.join({ workspaceId, runId, version: found.version }, stream)
}
