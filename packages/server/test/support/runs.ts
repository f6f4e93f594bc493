import { createToolbox } from '#machinery/tools/tools.ts'
import { PinnedDefinitions } from '#running/runs/runs.ts'
import { agentRuns } from '#running/threads/threads.ts'
import type { House } from './house.ts'

/** What runs work with, as app.ts puts it together. */
export function runParts({ deps, bus }: House) {
  return {
    ...deps,
    bus,
    toolbox: createToolbox(deps),
    definitions: new PinnedDefinitions(deps.database),
    hear: () => {},
    agentRuns: agentRuns({ ...deps, bus }),
  }
}
