import { bindRoutes } from '#operations/bind.ts'
import type { Feature } from '#operations/feature.ts'
import { FairPlaces } from '#platform/fair-places.ts'
import type { Streams } from '#streams/streams.ts'
import { type ChatQueue, changeHandlers, changeRoutes, launchedBefore } from './change-routes.ts'
import { readHandlers, readRoutes } from './read-routes.ts'
import { runStreamHandlers } from './read-stream.ts'
import { runReconcilers } from './reconcile.ts'
import { rerunHandlers, rerunRoutes } from './rerun-routes.ts'
import type { RunParts } from './run-parts.ts'

/** Each is held whole by the process that reads it. */
const largeReads = { atATime: 2, ofOnePerson: 1 }
/** Who waits longer for that is told to come again. */
const placeWithinMs = 5000

export function runFeature(parts: RunParts, chats: ChatQueue, streams?: Streams): Feature {
  const places = new FairPlaces(largeReads.atATime, largeReads.ofOnePerson)
  const reading = { ...parts, largeReads: places, placeWithinMs }
  const routes = [
    ...bindRoutes(changeRoutes, changeHandlers(parts, chats), {
      launchWorkflow: (_call, answer) => launchedBefore(parts, answer),
    }),
    ...bindRoutes(readRoutes, readHandlers(reading)),
    ...bindRoutes(rerunRoutes, rerunHandlers(parts), {
      rerunWorkflowRun: (_call, answer) => launchedBefore(parts, answer),
    }),
    ...(streams ? runStreamHandlers(reading, streams) : []),
  ]
  return { routes, reconcilers: runReconcilers(parts) }
}
