import { randomUUID } from 'node:crypto'
import { createGrants } from '#access/consent/consent.ts'
import { createChecks, principalLoader } from '#features.ts'
import { createToolbox } from '#machinery/tools/tools.ts'
import type { Perform } from '#operations/perform.ts'
import { findCaused } from '#running/threads/store.ts'
import { fromRunId } from '#running/threads/thread-log.ts'
import {
  type Credential,
  createToolset,
  type ThreadToolset,
  type ToolRun,
  type ToolsetParts,
  type Wait,
} from '#running/threads/toolset/toolset.ts'
import type { House } from './house.ts'

/** The parts of toolsets in a process of the API; what they perform is noted. */
export function toolsetParts(house: House, performed: string[] = []): ToolsetParts {
  const { deps, bus } = house
  const perform: Perform = (name, call) => {
    performed.push(name)
    return house.perform(name, call)
  }
  return {
    ...deps,
    bus,
    perform,
    toolbox: createToolbox(deps),
    grants: createGrants(deps),
    loadPrincipal: principalLoader(createChecks(deps)),
  }
}

export interface Sender {
  readonly workspaceId: string
  readonly userId: string
  readonly credential: Credential
}

interface Options {
  readonly tools?: readonly string[]
  readonly skills?: readonly string[]
  readonly outside?: 'ask' | 'never'
  readonly tainted?: boolean
  readonly remainingMilliDs?: number
}

export interface TriedRun {
  readonly run: ToolRun
  readonly toolset: ThreadToolset
  /** What a run is told to read from outside by. */
  readonly taints: string[]
  /** As the next segment has it. */
  wokenAfter(wait: Wait, toolUseId: string): TriedRun
}

/** A run that stands in the middle of its thread, kept in memory: what of it outlives a process is its own matter. */
export function newToolRun(parts: ToolsetParts, sender: Sender, options: Options = {}): TriedRun {
  const taints: string[] = options.tainted ? ['before'] : []
  const begun = new Set<string>()
  const run: ToolRun = {
    runId: `chat_${randomUUID()}`,
    threadId: `thread-${randomUUID()}`,
    workspaceId: sender.workspaceId,
    userId: sender.userId,
    credential: sender.credential,
    agent: {
      slug: 'assistant',
      tools: options.tools ?? ['skills', 'workflows', 'http-request', 'transform-json'],
      skills: options.skills ?? [],
      outside: options.outside ?? 'ask',
    },
    tainted: () => taints.length > 0,
    taint: async (why) => void taints.push(why),
    remainingMilliDs: async () => options.remainingMilliDs ?? 500_000,
    causedBy: (runId) => findCaused(parts.database.db, fromRunId(runId) ?? ''),
    depth: 0,
    signal: new AbortController().signal,
    waited: undefined,
    begin: async (id) => {
      if (begun.has(id)) return false
      begun.add(id)
      return true
    },
  }
  return tried(parts, run, taints)
}

function tried(parts: ToolsetParts, run: ToolRun, taints: string[]): TriedRun {
  return {
    run,
    taints,
    toolset: createToolset(parts, run),
    wokenAfter: ({ kind, ref }, toolUseId) =>
      tried(parts, { ...run, waited: { kind, ref, toolUseId } }, taints),
  }
}
