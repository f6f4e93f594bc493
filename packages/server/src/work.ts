import { Bus } from './bus/bus.ts'
import { createGrants } from './consent/consent.ts'
import type { Deps } from './deps.ts'
import type { EngineWork } from './engine/endpoint.ts'
import type { ExecutionParts } from './executions/executions.ts'
import { Runner } from './executions/runner.ts'
import { executionTending } from './executions/tend.ts'
import { bindFeatures, createChecks } from './features.ts'
import { createModels } from './models/models.ts'
import { createPerform, type Perform, toOperations } from './operations/perform.ts'
import type { Sweep, Tending } from './platform/sweep.ts'
import { createRunRecords, createStepWork, runTending } from './runs/runs.ts'
import { createSandboxDriver } from './sandbox/sandbox.ts'

export interface Work {
  readonly engineWork: EngineWork
  readonly tending: Tending[]
  readonly sweeps: Sweep[]
  /** What agents and tools do for the people whose authority they have: the operations of the API, in this process. */
  readonly perform: Perform
  /** Throws with what to do when this host cannot keep skills and expressions apart from itself. */
  check(): Promise<void>
  /** Waits for what is under way; what lasts longer ends as lost. */
  drain(): Promise<void>
}

/** Puts a worker together, as app.ts does with the API. */
export function createWork(deps: Deps): Work {
  const bus = new Bus(deps)
  const parts: ExecutionParts = { ...deps, bus }
  const models = createModels(deps.config.models)
  const { runs: bound, routes } = bindFeatures(deps, createChecks(deps), bus)
  const runs = { ...bound, models }
  const { toolbox } = bound
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
    perform: createPerform({ deps, grants: createGrants(deps), operations: toOperations(routes) }),
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
