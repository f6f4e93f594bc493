import {
  type AnswerOf,
  isSlug,
  type Route,
  reservedWorkflowSlugs,
  workflowsPerWorkspace,
} from '@guildhall/contract'
import { recordActivity } from '#accounts/activity/activity.ts'
import { lockWorkspace } from '#accounts/workspaces/workspaces.ts'
import {
  failingAs,
  keepBundle,
  type StoredBundle,
  storeForWorkspace,
  toBundle,
} from '#library/artifacts/artifacts.ts'
import { type IssueReport, listingOf } from '#machinery/graph/graph.ts'
import type { Toolbox } from '#machinery/tools/tools.ts'
import type { Call } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import { createOnce } from '#operations/idempotency/idempotency.ts'
import type { Principal } from '#operations/principal.ts'
import type { Tx } from '#platform/database.ts'
import * as store from './store.ts'
import { compileFor } from './workflows.ts'

export interface LibraryParts {
  readonly toolbox: Toolbox
}

/** What stands in the record instead of what the definition says. */
interface Titles {
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly category?: string | undefined
}

interface InstallInput {
  readonly text: string
  /** Undefined: the id that the definition declares. */
  readonly slug: string | undefined
  readonly titles?: Titles
  readonly refuse: (report: IssueReport) => ApiError
}

/**
 * Compiles a definition and installs it, or replaces the one that is there. Everything that can be refused is refused
 * before anything is written, and the row and the reference to the file become visible together or not at all.
 */
export async function install<R extends Route>(
  { toolbox }: LibraryParts,
  call: Call<R>,
  input: InstallInput,
  answerOf: (row: store.WorkflowRow) => AnswerOf<R>,
): Promise<AnswerOf<R>> {
  const { deps } = call
  const principal = call.principal as Principal
  const { workspaceId } = principal
  if (input.slug !== undefined) requireUsableSlug(input.slug)
  const { workflow, report } = await compileFor({ ...deps, toolbox }, workspaceId, input.text)
  if (!workflow) throw input.refuse(report)
  const slug = input.slug ?? workflow.id
  requireUsableSlug(slug)
  // Bytes first, outside the transaction: a slow store must not hold a connection.
  const file = { path: 'workflow.json', bytes: Buffer.from(input.text) }
  const bundle = toBundle('workflow', [file])
  const stored = await failingAs('INTERNAL_ERROR', storeForWorkspace(deps, workspaceId, bundle))
  return createOnce(call, async (tx) => {
    const row = await writeWorkflow(tx, principal, stored, {
      slug,
      definition_id: workflow.id,
      ...shownOf(input, slug),
      definition: input.text,
      bundle_checksum: stored.checksum,
      installed_by: principal.userId,
    })
    return { resourceId: slug, answer: answerOf(row) }
  })
}

/** The shapes in which a definition is sent. Only the first one has a text of its own. */
export function definitionText(body: Readonly<Record<string, unknown>>): string {
  const isDefinition = Object.hasOwn(body, 'id') && Object.hasOwn(body, 'graph')
  if (!isDefinition && typeof body['content'] === 'string') return body['content']
  const given = !isDefinition && Object.hasOwn(body, 'definition') ? body['definition'] : body
  return JSON.stringify(given)
}

export function doesNotCompile(report: IssueReport): ApiError {
  return new ApiError('INVALID_INPUT', { message: firstMistake(report), details: { ...report } })
}

export function firstMistake({ issues: [first] }: IssueReport): string {
  const place = first?.path ? `${first.path}: ` : ''
  return `The definition cannot be installed. ${place}${first?.message ?? ''}`
}

function requireUsableSlug(slug: string): void {
  if (!isSlug(slug)) {
    throw new ApiError('INVALID_INPUT', { message: 'slug: 1 to 64 lower-case letters, digits and hyphens' })
  }
  if ((reservedWorkflowSlugs as readonly string[]).includes(slug)) {
    throw new ApiError('INVALID_INPUT', { message: `slug: "${slug}" is reserved; choose another` })
  }
}

function shownOf({ text, titles = {} }: InstallInput, slug: string) {
  const listing = listingOf(JSON.parse(text))
  return {
    name: storable(titles.name ?? listing.name ?? slug),
    description: storable(titles.description ?? listing.description ?? ''),
    category: storable(titles.category ?? listing.category ?? 'general'),
    requires_connector: listing.requiresConnector && storable(listing.requiresConnector),
  }
}

async function writeWorkflow(
  tx: Tx,
  principal: Principal,
  stored: StoredBundle,
  workflow: store.NewWorkflow,
): Promise<store.WorkflowRow> {
  const { workspaceId } = principal
  const { slug, definition_id: definitionId } = workflow
  await lockWorkspace(tx, workspaceId)
  const before = await store.findWorkflow(tx, workspaceId, slug)
  if (!before) await requireRoom(tx, workspaceId)
  await keepBundle(tx, stored)
  const row = await store.insertOrUpdateWorkflow(tx, workspaceId, workflow)
  await recordActivity(tx, principal, {
    type: before ? 'workflow.updated' : 'workflow.installed',
    workspaceId,
    details: { slug, definitionId, contentChecksum: stored.checksum },
  })
  return row
}

/** PostgreSQL keeps no NUL in text. The definition's own text has it as an escape. */
function storable(text: string): string {
  return text.replaceAll('\0', '')
}

async function requireRoom(tx: Tx, workspaceId: string): Promise<void> {
  if ((await store.countWorkflows(tx, workspaceId)) < workflowsPerWorkspace) return
  throw new ApiError('INVALID_INPUT', {
    message: `A workspace holds at most ${workflowsPerWorkspace} workflows; uninstall one first`,
    details: { limit: workflowsPerWorkspace },
  })
}
