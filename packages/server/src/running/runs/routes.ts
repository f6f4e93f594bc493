import { bindRoutes } from '#operations/bind.ts'
import type { Feature } from '#operations/feature.ts'
import type { Streams } from '#streams/streams.ts'
import { type ChatQueue, changeHandlers, changeRoutes } from './change-routes.ts'
import { readHandlers, readRoutes } from './read-routes.ts'
import { runStreamHandlers } from './read-stream.ts'
import { runReconcilers } from './reconcile.ts'
import { rerunHandlers, rerunRoutes } from './rerun-routes.ts'
import type { RunParts } from './run-parts.ts'

export function runFeature(parts: RunParts, chats: ChatQueue, streams?: Streams): Feature {
  const routes = [
    ...bindRoutes(changeRoutes, changeHandlers(parts, chats)),
    ...bindRoutes(readRoutes, readHandlers(parts)),
    ...bindRoutes(rerunRoutes, rerunHandlers(parts)),
    ...(streams ? runStreamHandlers(parts, streams) : []),
  ]
  return { routes, reconcilers: runReconcilers(parts) }
}
