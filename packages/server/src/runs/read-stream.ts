import { runStreamRoutes } from '@guildhall/contract'
import { bindRoutes } from '../operations/bind.ts'
import type { Streams } from '../streams/streams.ts'
import { type RoomParts, RunRooms } from './read-rooms.ts'

/** The streams of runs: the state of a run as it is, then each that follows, until it stands still. */
export function runStreamHandlers(parts: RoomParts, streams: Streams) {
  const rooms = new RunRooms(parts)
  return bindRoutes(runStreamRoutes, {
    streamWorkflowRun: ({ principal, params }) =>
      streams.open(principal, () => rooms.enter(principal.workspaceId, params.runId)),
  })
}
