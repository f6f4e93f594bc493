import { listAgentSlugs } from '#library/agents/agents.ts'
import { type Compilation, compileDefinition } from '#machinery/graph/graph.ts'
import type { Toolbox } from '#machinery/tools/tools.ts'
import type { Db } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import * as store from './store.ts'

export { findWorkflow, listWorkflowsAmong } from './store.ts'

export interface WorkflowParts extends Pick<Deps, 'database'> {
  readonly toolbox: Toolbox
}

/** What a workflow is called where runs are told apart. */
export function runtimeId(workspaceId: string, slug: string): string {
  return `${workspaceId}:${slug}`
}

/** Reads a definition as this workspace sees it: with its agents, and with the tools of the deployment. */
export async function compileFor(
  { database, toolbox }: WorkflowParts,
  workspaceId: string,
  definitionText: string,
): Promise<Compilation> {
  const agents = new Set(await listAgentSlugs(database.db, workspaceId))
  return compileDefinition(definitionText, {
    workspaceId,
    references: { findTool: (toolId) => toolbox.find(toolId), hasAgent: (slug) => agents.has(slug) },
  })
}

/** The workflow that is meant by a slug, a runtime id or a declared id, in this order; several may declare one id. */
export async function resolveWorkflow(
  db: Db,
  workspaceId: string,
  id: string,
): Promise<{ row: store.WorkflowRow } | { candidates: string[] } | undefined> {
  const own = runtimeId(workspaceId, '')
  const named = await store.findWorkflow(db, workspaceId, id.startsWith(own) ? id.slice(own.length) : id)
  if (named) return { row: named }
  const slugs = await store.listSlugsOfDefinition(db, workspaceId, id)
  const [only] = slugs
  if (only === undefined) return undefined
  if (slugs.length > 1) return { candidates: slugs }
  const row = await store.findWorkflow(db, workspaceId, only)
  return row && { row }
}
