import { runStreamRoutes } from '@guildhall/contract'
import { bindRoutes } from '#operations/bind.ts'
import type { Streams } from '#streams/streams.ts'
import { RunHub, type RunHubParts } from './run-hub.ts'

/** The streams of runs: the state of a run as it is, then each that follows, until it stands still. */
export function runStreamHandlers(parts: RunHubParts, streams: Streams) {
  const hub = new RunHub(parts)
  return bindRoutes(runStreamRoutes, {
    streamWorkflowRun: ({ principal, params, query }) => {
      const telling = { throughSuspended: query.through === 'suspended', changes: query.changes === '1' }
      return streams.open(principal, () => hub.enter(principal, params.runId, telling))
    },
  })
}
