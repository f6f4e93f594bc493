import { createGrants } from '#access/consent/consent.ts'
import { PushSender } from '#access/push/push.ts'
import type { EngineWork } from '#machinery/engine/endpoint.ts'
import { createModels } from '#machinery/models/models.ts'
import { createSandboxDriver } from '#machinery/sandbox/sandbox.ts'
import { toOperations } from '#operations/operation.ts'
import { createPerform, type Perform } from '#operations/perform.ts'
import { Bus } from '#platform/bus.ts'
import type { Deps } from '#platform/deps.ts'
import type { Reconciler } from '#platform/reconcile.ts'
import type { Sweep } from '#platform/sweep.ts'
import { Runner } from '#running/executions/runner.ts'
import { createRunRecords, createStepWork } from '#running/runs/runs.ts'
import { ThreadRunner } from '#running/threads/runner.ts'
import { toolsetOf } from '#running/threads/threads.ts'
import { bindFeatures, createChecks, principalLoader } from './features.ts'

export interface Work {
  readonly engineWork: EngineWork
  readonly reconcilers: readonly Reconciler[]
  readonly sweeps: Sweep[]
  /** What agents and tools do for the people whose authority they have: the operations of the API, in this process. */
  readonly perform: Perform
  /** Throws with what to do when this host cannot keep skills and expressions apart from itself. */
  check(): Promise<void>
  /** Clears away what killed workers of this host left behind, as far as that can be done; the sweeps do the rest. */
  tidy(): Promise<void>
  /** Begins what a worker does unasked, beside reconciling. */
  start(): void
  /** Waits for what is under way; what lasts longer ends as lost. */
  drain(): Promise<void>
}

/** Puts a worker together, as app.ts does with the API. */
export function createWork(deps: Deps): Work {
  const bus = new Bus(deps)
  const models = createModels(deps.config.models)
  const checks = createChecks(deps)
  const house = bindFeatures(deps, checks, bus)
  const { executions, threads, traces, routes, reconcilers } = house
  const runs = { ...house.runs, models }
  const sandboxes = createSandboxDriver(deps.config.sandbox)
  const runner = new Runner({
    ...executions,
    traces,
    storage: deps.storage,
    models,
    sandboxes,
  })
  const grants = createGrants(deps)
  const perform = createPerform({ deps, grants, operations: toOperations(routes, bus) })
  const tools = {
    ...deps,
    bus,
    toolbox: runs.toolbox,
    grants,
    perform,
    loadPrincipal: principalLoader(checks),
  }
  const sender = deps.config.push && new PushSender(house.pushes, deps.config.push)
  const chats = new ThreadRunner({ ...threads, models, toolsetOf: toolsetOf(threads, tools) })
  /** What killed workers of this host left behind. */
  const sweepSandboxes = async () => {
    const { cleared, left } = await sandboxes.sweep((id) => runner.isAlive(id))
    for (const { id, cause } of left)
      deps.logger.warn({ err: cause, sandbox: id }, 'a sandbox that was left behind is not cleared away yet')
    deps.metrics.leftSandboxes.set(left.length)
    return cleared.length
  }
  return {
    engineWork: {
      runExecution: ({ executionRowId }) => runner.run(executionRowId),
      carryThread: (threadRowId, call, signal) => chats.carry(threadRowId, call, signal),
      runs: createRunRecords(runs),
      steps: createStepWork(runs),
    },
    perform,
    reconcilers,
    sweeps: [{ table: 'sandboxes', run: sweepSandboxes }],
    check: async () => {
      await sandboxes.check()
      await runs.toolbox.check()
    },
    tidy: async () => {
      await sweepSandboxes().catch((error) =>
        deps.logger.warn({ err: error }, 'not tidied up yet; the next sweep does it'),
      )
    },
    start: () => sender?.start(),
    drain: async () => {
      await sender?.close()
      await Promise.all([runner.close(deps.config.drainMs), chats.close(deps.config.drainMs)])
    },
  }
}
