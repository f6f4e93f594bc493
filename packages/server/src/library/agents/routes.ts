import {
  agentRoutes,
  agentsPerWorkspace,
  type BodyOf,
  fromDs,
  reservedAgentSlugs,
  succeeded,
  toDs,
} from '@guildhall/contract'
import { recordActivity } from '#accounts/activity/activity.ts'
import { lockWorkspace } from '#accounts/workspaces/workspaces.ts'
import { bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { changeOnce, createOnce } from '#operations/idempotency/idempotency.ts'
import type { Config } from '#platform/config.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { ensurePrimary, findAgent } from './agents.ts'
import { releaseLostAsks } from './ask.ts'
import * as store from './store.ts'
import * as versionStore from './version-store.ts'
import { addAgent, changeAgent, givePrimaryUp, removeAgent } from './versions.ts'

export function agentFeature(deps: Deps): Feature {
  const routes = bindRoutes(agentRoutes, {
    listAgents: async ({ principal: { workspaceId }, deps: { database } }) => {
      await ensurePrimary(database.db, workspaceId)
      return (await store.listAgents(database.db, workspaceId)).map(describeAgent)
    },

    createAgent: async (call) => {
      const { principal, body, deps } = call
      const { workspaceId } = principal
      if ((reservedAgentSlugs as readonly string[]).includes(body.slug)) {
        throw new ApiError('INVALID_INPUT', { message: `slug: "${body.slug}" is reserved; choose another` })
      }
      requireKnownModel(deps.config, body.model)
      return createOnce(call, async (tx) => {
        await lockWorkspace(tx, workspaceId)
        await ensurePrimary(tx, workspaceId)
        await requireRoom(tx, workspaceId)
        if (await store.findAgent(tx, workspaceId, body.slug)) {
          throw new ApiError('CONFLICT', {
            message: `There is an agent "${body.slug}" already; change that one`,
          })
        }
        if (body.primary) await givePrimaryUp(tx, workspaceId, principal.userId)
        const row = await addAgent(tx, workspaceId, newAgent(body), principal.userId)
        if (!row) throw new Error(`The agent ${body.slug} could not be inserted`)
        await recordActivity(tx, principal, {
          type: 'agent.created',
          workspaceId,
          details: { slug: row.slug, primary: row.is_primary },
        })
        return { resourceId: row.slug, answer: describeAgent(row) }
      })
    },

    getAgent: async ({ principal, params, deps }) =>
      describeAgent(await requireAgent(deps.database.db, principal.workspaceId, params.agentId)),

    updateAgent: async ({ principal, params, body, deps, access }) => {
      const { workspaceId } = principal
      requireKnownModel(deps.config, body.model)
      const row = await deps.database.transaction(async (tx) => {
        await lockWorkspace(tx, workspaceId)
        const before = await requireAgent(tx, workspaceId, params.agentId)
        const change = changesOf(before, body)
        if (change.is_primary === false) throw primaryStays()
        // Also for no change: the answer shows the agent.
        await access.spend(tx)
        if (Object.keys(change).length === 0) return before
        const after = await changeAgent(tx, before, change, { by: principal.userId })
        if (!after) throw new ApiError('NOT_FOUND')
        await recordActivity(tx, principal, {
          type: 'agent.updated',
          workspaceId,
          details: { slug: after.slug, versionNumber: after.version_number, changed: Object.keys(change) },
        })
        return after
      })
      return describeAgent(row)
    },

    listAgentVersions: async ({ principal, params, deps: { database } }) => {
      const row = await requireAgent(database.db, principal.workspaceId, params.agentId)
      const versions = await versionStore.listVersions(database.db, row.workspace_id, row.slug)
      return versions.map((version) => describeVersion(version, row.version_number))
    },

    restoreAgentVersion: async (call) => {
      const { principal, params, deps, access } = call
      const { workspaceId, userId } = principal
      const restore = async (tx: Tx) => {
        await lockWorkspace(tx, workspaceId)
        const before = await requireAgent(tx, workspaceId, params.agentId)
        const version = await versionStore.findVersion(
          tx,
          workspaceId,
          before.slug,
          versionNumberOf(params.versionNumber),
        )
        if (!version || version.ends_at !== null) throw new ApiError('NOT_FOUND')
        requireKnownModel(deps.config, version.content.model)
        const change = differences(before, version.content)
        // Also for no change: the answer shows the agent.
        await access.spend(tx)
        if (Object.keys(change).length === 0) return before
        const note = `Restored from version ${version.version_number}`
        const after = await changeAgent(tx, before, change, { by: userId, note })
        if (!after) throw new ApiError('NOT_FOUND')
        await recordActivity(tx, principal, {
          type: 'agent.updated',
          workspaceId,
          details: {
            slug: after.slug,
            versionNumber: after.version_number,
            restoredFrom: version.version_number,
            changed: Object.keys(change),
          },
        })
        return after
      }
      return changeOnce(call, async (keep) => {
        const row = await deps.database.transaction(async (tx) => {
          const restored = await restore(tx)
          await keep(tx, describeAgent(restored), restored.slug)
          return restored
        })
        return describeAgent(row)
      })
    },

    deleteAgent: async ({ principal, params, deps, access }) => {
      const { workspaceId } = principal
      await deps.database.transaction(async (tx) => {
        await lockWorkspace(tx, workspaceId)
        const row = await requireAgent(tx, workspaceId, params.agentId)
        await access.spend(tx)
        if (!(await removeAgent(tx, workspaceId, row.slug))) throw primaryStays()
        await recordActivity(tx, principal, {
          type: 'agent.deleted',
          workspaceId,
          details: { slug: row.slug },
        })
      })
      return succeeded
    },
  })
  return {
    routes,
    sweeps: [
      { table: 'reservations', run: () => releaseLostAsks(deps) },
      { table: 'agent_versions', run: () => versionStore.deleteEndedVersions(deps.database.db) },
    ],
  }
}

async function requireAgent(db: Db, workspaceId: string, agentId: string): Promise<store.AgentRow> {
  const row = await findAgent(db, workspaceId, agentId)
  if (!row) throw new ApiError('NOT_FOUND')
  return row
}

function primaryStays(): ApiError {
  return new ApiError('CONFLICT', {
    message: 'This is the primary agent, and a workspace has one: make another one primary first',
  })
}

async function requireRoom(tx: Tx, workspaceId: string): Promise<void> {
  if ((await store.countAgents(tx, workspaceId)) < agentsPerWorkspace) return
  throw new ApiError('INVALID_INPUT', {
    message: `A workspace has at most ${agentsPerWorkspace} agents; delete one first`,
    details: { limit: agentsPerWorkspace },
  })
}

function requireKnownModel({ models }: Config, model: string | null | undefined): void {
  if (model === undefined || model === null || models.some(({ id }) => id === model)) return
  throw new ApiError('INVALID_INPUT', {
    message: 'model: not one of this deployment; leave it out for the default',
    details: { models: models.map(({ id }) => id) },
  })
}

function newAgent(body: BodyOf<typeof agentRoutes.createAgent>): store.NewAgent {
  return {
    slug: body.slug,
    name: body.name ?? body.slug,
    description: body.description ?? '',
    instructions: body.instructions ?? '',
    model: body.model ?? null,
    is_primary: body.primary ?? false,
    tools: body.tools ?? [],
    skills: body.skills ?? [],
    max_cost_per_run_milli_ds: fromDs(body.maxCostPerRun ?? null),
    outside: body.outside ?? 'ask',
  }
}

/** Zero for what is no number of a version: there is none of that. */
function versionNumberOf(text: string): number {
  const number = Number(text)
  return Number.isInteger(number) && number > 0 && number < 2 ** 31 ? number : 0
}

/** Only what is different from what is there. */
function changesOf(
  before: store.AgentRow,
  body: BodyOf<typeof agentRoutes.updateAgent>,
): Partial<store.NewAgent> {
  return differences(before, {
    name: body.name,
    description: body.description,
    instructions: body.instructions,
    model: body.model,
    tools: body.tools,
    skills: body.skills,
    max_cost_per_run_milli_ds: body.maxCostPerRun === undefined ? undefined : fromDs(body.maxCostPerRun),
    outside: body.outside,
    is_primary: body.primary,
  })
}

type Wanted = { [Column in keyof store.NewAgent]?: store.NewAgent[Column] | undefined }

function differences(before: store.AgentRow, wanted: Wanted): Partial<store.NewAgent> {
  const isNew = ([column, value]: [string, unknown]) =>
    value !== undefined && JSON.stringify(before[column as keyof store.NewAgent]) !== JSON.stringify(value)
  return Object.fromEntries(Object.entries(wanted).filter(isNew))
}

function describeAgent(row: store.AgentRow) {
  return {
    id: `${row.workspace_id}:${row.slug}`,
    slug: row.slug,
    name: row.name,
    description: row.description,
    instructions: row.instructions,
    model: row.model,
    primary: row.is_primary,
    tools: row.tools,
    skills: row.skills,
    maxCostPerRun: toDs(row.max_cost_per_run_milli_ds),
    outside: row.outside,
    status: 'active',
    versionNumber: row.version_number,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

function describeVersion({ content, version_number, ...row }: versionStore.VersionRow, current: number) {
  return {
    versionNumber: version_number,
    name: content.name,
    description: content.description,
    instructions: content.instructions,
    model: content.model,
    tools: content.tools,
    skills: content.skills,
    maxCostPerRun: toDs(content.max_cost_per_run_milli_ds),
    outside: content.outside,
    createdBy: row.created_by,
    note: row.note,
    createdAt: row.created_at,
    active: version_number === current,
  }
}
