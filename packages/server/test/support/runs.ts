import { PinnedDefinitions } from '../../src/runs/runs.ts'
import { createToolbox } from '../../src/tools/tools.ts'
import type { House } from './house.ts'

/** What runs work with, as app.ts puts it together. */
export function runParts({ deps, live }: House) {
  return {
    ...deps,
    live,
    toolbox: createToolbox(deps),
    definitions: new PinnedDefinitions(deps.database),
  }
}
