import { Bus } from './bus/bus.ts'
import type { Deps } from './deps.ts'
import type { EngineWork } from './engine/endpoint.ts'
import type { ExecutionParts } from './executions/executions.ts'
import { Runner } from './executions/runner.ts'
import { executionTending } from './executions/tend.ts'
import { createModels } from './models/models.ts'
import type { Sweep, Tending } from './platform/sweep.ts'
import { createRunRecords, createStepWork, PinnedDefinitions, runTending } from './runs/runs.ts'
import { createSandboxDriver } from './sandbox/sandbox.ts'
import { createToolbox } from './tools/tools.ts'

export interface Work {
  readonly engineWork: EngineWork
  readonly tending: Tending[]
  readonly sweeps: Sweep[]
  /** Throws with what to do when this host cannot keep skills and expressions apart from itself. */
  check(): Promise<void>
  /** Waits for what is under way; what lasts longer ends as lost. */
  drain(): Promise<void>
}

/** Puts a worker together, as app.ts does with the API. */
export function createWork(deps: Deps): Work {
  const parts: ExecutionParts = { ...deps, bus: new Bus(deps) }
  const models = createModels(deps.config.models)
  const toolbox = createToolbox(deps)
  const runs = {
    ...parts,
    models,
    toolbox,
    definitions: new PinnedDefinitions(deps.database),
  }
  const sandboxes = createSandboxDriver(deps.config.sandbox)
  const runner = new Runner({
    ...parts,
    storage: deps.storage,
    models,
    sandboxes,
  })
  /** What killed workers of this host left behind. */
  const sweepSandboxes = () => sandboxes.sweep((id) => runner.isAlive(id))
  return {
    engineWork: {
      runExecution: ({ executionRowId }) => runner.run(executionRowId),
      runs: createRunRecords(runs),
      steps: createStepWork(runs),
    },
    tending: [...executionTending(parts), ...runTending(runs)],
    sweeps: [{ table: 'sandboxes', run: sweepSandboxes }],
    check: async () => {
      await sandboxes.check()
      await toolbox.check()
      await sweepSandboxes()
    },
    drain: () => runner.close(deps.config.drainMs),
  }
}
