import type { AgentRow } from '#library/agents/agents.ts'
import type { Schema } from '#machinery/loop/loop.ts'
import type { Models } from '#machinery/models/models.ts'
import type { Toolbox } from '#machinery/tools/tools.ts'
import type { Actor } from '#operations/actor.ts'
import type { Authority } from '#operations/authority.ts'
import type { Tx } from '#platform/database.ts'
import type { ExecutionParts } from '#running/executions/executions.ts'
import type { PinnedDefinitions } from './pinned-definitions.ts'
import type { ShownRow } from './store.ts'

/** What changes of runs work with, in an API process and in a worker alike. */
export type RunParts = ExecutionParts & {
  readonly toolbox: Toolbox
  readonly definitions: PinnedDefinitions
  /** Of whoever has conversations told about runs; it must not hold up the run. */
  readonly hear: (run: ShownRow) => void
  readonly agentRuns: AgentRuns
}

/** And in a worker. */
export type DriveParts = RunParts & { readonly models: Models }

export interface AgentStep {
  readonly workspaceId: string
  readonly userId: string
  readonly agent: AgentRow
  readonly prompt: string
  readonly outputSchema: Schema | undefined
  readonly step: { readonly runId: string; readonly key: string; readonly awakeableId: string }
  /**
   * Asked in the transaction that begins it: through what the run was started, undefined for one that was canceled.
   * Throws when whoever started the run may not start anything any more.
   */
  admit(tx: Tx): Promise<(Actor & { allowedOnce: boolean; authority: Authority }) | undefined>
}

interface AgentAnswer {
  readonly status: 'completed' | 'failed'
  readonly stopReason: string | null
  readonly errorCode: string | null
  /** For people, why it failed. */
  readonly message: string | undefined
  /** What the agent said last. */
  readonly text: string
  readonly threadId: string
  readonly runId: string
}

/** Conversations of agents that a step asks and that use tools; handed over by whoever has conversations. */
export interface AgentRuns {
  /** Begins one, or finds what an earlier try of the step began. Undefined when it is no longer wanted. */
  begin(step: AgentStep): Promise<number | undefined>
  interrupt(id: number): Promise<void>
  /** All that a run of a workflow has begun. */
  interruptOfRun(runId: string): Promise<void>
  /** Undefined when it is gone. */
  read(id: number): Promise<AgentAnswer | undefined>
}
