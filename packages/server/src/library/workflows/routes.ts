import {
  type AnswerOf,
  type skillRoutes,
  succeeded,
  workflowFormat,
  workflowRoutes,
} from '@guildhall/contract'
import { recordActivity } from '#accounts/activity/activity.ts'
import { listAgentSlugs } from '#library/agents/agents.ts'
import {
  type BundleFile,
  failingAs,
  findArtifact,
  listBundleFiles,
  readFiles,
  requireNameable,
  toBundle,
} from '#library/artifacts/artifacts.ts'
import { type IssueReport, listingOf } from '#machinery/graph/graph.ts'
import { bindRoutes, type Call } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { walkPages } from '#operations/page.ts'
import type { Principal } from '#operations/principal.ts'
import type { Deps } from '#platform/deps.ts'
import { workflowGuide } from './guide.ts'
import { definitionText, doesNotCompile, firstMistake, install, type LibraryParts } from './install.ts'
import * as store from './store.ts'
import { compileFor } from './workflows.ts'

/** Definitions are large: few are held at a time, and read in one go. */
const readAtOnce = 10

export function workflowFeature(parts: LibraryParts): Feature {
  const routes = bindRoutes(workflowRoutes, {
    listWorkflows: async ({ principal, deps }) => ({
      items: walkWorkflows(deps, principal, describeWorkflow),
    }),

    listWorkflowDefinitions: async ({ principal, deps }) => {
      let count = 0
      const items = walkWorkflows(deps, principal, (row) => {
        count++
        return describeDefinition(row)
      })
      const rest = () => ({ format: workflowFormat, exportable: true, count })
      return { items, within: { field: 'workflows', rest } }
    },

    getWorkflowGuide: async ({ principal, deps }) => {
      const { toolbox } = parts
      const tools = toolbox.ids().flatMap((id) => toolbox.find(id) ?? [])
      return { guide: workflowGuide(tools, await listAgentSlugs(deps.database.db, principal.workspaceId)) }
    },

    validateWorkflow: async ({ principal, body, deps }) => {
      const { toolbox } = parts
      const { report } = await compileFor({ ...deps, toolbox }, principal.workspaceId, definitionText(body))
      if (!report) return { valid: true, issues: [] }
      const { issues, truncated } = report
      return { valid: false, issues: [...issues], ...(truncated && { truncated }) }
    },

    installWorkflow: async (call) => {
      const input = { text: definitionText(call.body), slug: call.params.slug, refuse: doesNotCompile }
      return install(parts, call, input, describeWorkflow)
    },

    installWorkflowFromArtifact: async (call) => {
      const { principal, body, deps } = call
      await requireNameable(call, body.artifactId)
      const reading = readArtifact(deps, principal.workspaceId, body.artifactId)
      const { slug, text } = await failingAs('INTERNAL_ERROR', reading)
      return install(parts, call, { text, slug, refuse: brokenArtifact }, describeWorkflow)
    },

    getWorkflow: async ({ principal, params, deps }) => {
      const row = await store.findWorkflow(deps.database.db, principal.workspaceId, params.slug)
      if (!row) throw new ApiError('NOT_FOUND')
      return describeWorkflow(row)
    },

    uninstallWorkflow: (call) => uninstall(call),
    deleteWorkflow: (call) => uninstall(call),
  })
  return { routes }
}

type Install = typeof skillRoutes.install

/** For `POST /install`, which fetches before it knows what it has fetched. */
export function workflowInstaller(parts: LibraryParts) {
  return async (call: Call<Install>, files: readonly BundleFile[]): Promise<AnswerOf<Install>> => {
    const { name, description, category, slug, source } = call.body
    const main = toBundle('workflow', files).files.find(({ path }) => path === 'workflow.json')
    const titles = { name, description, category }
    const input = { text: main?.bytes.toString() ?? '', slug, titles, refuse: doesNotCompile }
    return install(parts, call, input, (row) => ({
      kind: 'workflow' as const,
      slug: row.slug,
      source,
      filesCount: 1,
      contentChecksum: row.bundle_checksum,
      workflow: describeWorkflow(row),
    }))
  }
}

function walkWorkflows<Item>(
  { database }: Pick<Deps, 'database'>,
  { workspaceId }: Principal,
  describe: (row: store.WorkflowRow) => Item,
): AsyncGenerator<Item> {
  const page = (after: string, limit: number) =>
    store.listWorkflowsAfter(database.db, workspaceId, after, limit)
  return walkPages({ start: '', size: readAtOnce }, page, ({ slug }) => slug, describe)
}

/** The two routes are one operation. Runs keep the definition they were launched with. */
async function uninstall({
  principal,
  params,
  deps,
  access,
}: Omit<Call<typeof workflowRoutes.deleteWorkflow>, 'route'>) {
  const { workspaceId } = principal
  await deps.database.transaction(async (tx) => {
    await access.spend(tx)
    if (!(await store.deleteWorkflow(tx, workspaceId, params.slug))) throw new ApiError('NOT_FOUND')
    const entry = { type: 'workflow.uninstalled' as const, workspaceId, details: { slug: params.slug } }
    await recordActivity(tx, principal, entry)
  })
  return succeeded
}

async function readArtifact(deps: Deps, workspaceId: string, artifactId: string) {
  const artifact = await findArtifact(deps.database.db, workspaceId, artifactId)
  if (!artifact) throw new ApiError('NOT_FOUND')
  if (artifact.type !== 'workflow') {
    throw new ApiError('INVALID_INPUT', { message: `artifactId: a ${artifact.type}, not a workflow` })
  }
  const files = await listBundleFiles(deps.database.db, artifact.content_checksum)
  const [main] = await readFiles(
    deps,
    files.filter(({ path }) => path === 'workflow.json'),
  )
  if (!main) {
    const mistake = 'The artifact cannot be installed: it has no workflow.json'
    throw new ApiError('INTERNAL_ERROR', { mistake, details: { missing: 'workflow.json' } })
  }
  return { slug: artifact.slug, text: main.bytes.toString() }
}

/** An artifact that is kept here should have been whole, so the interface gives this another status. */
function brokenArtifact(report: IssueReport): ApiError {
  return new ApiError('INTERNAL_ERROR', { mistake: firstMistake(report), details: { ...report } })
}

function describeWorkflow(row: store.WorkflowRow) {
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    description: row.description,
    category: row.category,
    storagePath: `bundles/${row.bundle_checksum}`,
    installedAt: row.installed_at,
    workspaceId: row.workspace_id,
    requiresConnector: row.requires_connector,
    definition: row.definition,
  }
}

function describeDefinition(row: store.WorkflowRow) {
  const { inputSchema, outputSchema, triggers, requiresConnector } = listingOf(JSON.parse(row.definition))
  const { slug, name, description, category, definition_id: id } = row
  return { id, slug, name, description, category, inputSchema, outputSchema, triggers, requiresConnector }
}
