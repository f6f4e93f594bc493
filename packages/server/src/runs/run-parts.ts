import type { ExecutionParts } from '../executions/executions.ts'
import type { Toolbox } from '../tools/tools.ts'
import type { PinnedDefinitions } from './pinned-definitions.ts'

/** What changes of runs work with, in an API process and in a worker alike. */
export type RunParts = ExecutionParts & {
  readonly toolbox: Toolbox
  readonly definitions: PinnedDefinitions
}
