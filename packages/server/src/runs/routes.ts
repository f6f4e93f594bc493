import { bindRoutes } from '../operations/bind.ts'
import { changeHandlers, changeRoutes } from './change-routes.ts'
import { readHandlers, readRoutes } from './read-routes.ts'
import { rerunHandlers, rerunRoutes } from './rerun-routes.ts'
import type { RunParts } from './run-parts.ts'

export { runStreamHandlers } from './read-stream.ts'

export function runHandlers(parts: RunParts) {
  return [
    ...bindRoutes(changeRoutes, changeHandlers(parts)),
    ...bindRoutes(readRoutes, readHandlers(parts)),
    ...bindRoutes(rerunRoutes, rerunHandlers(parts)),
  ]
}
