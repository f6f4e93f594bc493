import { PinnedDefinitions } from '../../src/runs/runs.ts'
import { createToolbox } from '../../src/tools/tools.ts'
import type { House } from './house.ts'

/** What runs work with, as app.ts puts it together. */
export function runParts({ deps, bus }: House) {
  return {
    ...deps,
    bus,
    toolbox: createToolbox(deps),
    definitions: new PinnedDefinitions(deps.database),
  }
}
