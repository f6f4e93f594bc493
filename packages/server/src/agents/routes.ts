import {
  agentRoutes,
  agentsPerWorkspace,
  type BodyOf,
  reservedAgentSlugs,
  succeeded,
} from '@guildhall/contract'
import { recordActivity } from '../activity/activity.ts'
import type { Bus } from '../bus/bus.ts'
import { createOnce } from '../idempotency/idempotency.ts'
import { bindRoutes } from '../operations/bind.ts'
import { ApiError } from '../operations/errors.ts'
import type { Config } from '../platform/config.ts'
import type { Db, Tx } from '../platform/database.ts'
import { lockContents } from '../workspaces/workspaces.ts'
import { ensurePrimary, findAgent } from './agents.ts'
import * as store from './store.ts'

export function agentHandlers({ bus }: { bus: Bus }) {
  const announce = (workspaceId: string, slug: string) =>
    bus.publish({ type: 'cache-invalidate', workspaceId, keys: ['agents'], ids: [slug] })

  return bindRoutes(agentRoutes, {
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
      const answer = await createOnce(call, async (tx) => {
        await lockContents(tx, workspaceId)
        await ensurePrimary(tx, workspaceId)
        await requireRoom(tx, workspaceId)
        if (await store.findAgent(tx, workspaceId, body.slug)) {
          throw new ApiError('CONFLICT', {
            message: `There is an agent "${body.slug}" already; change that one`,
          })
        }
        if (body.primary) await store.updateNoPrimary(tx, workspaceId)
        const row = await store.insertAgent(tx, workspaceId, newAgent(body))
        if (!row) throw new Error(`The agent ${body.slug} could not be inserted`)
        await recordActivity(tx, principal, {
          type: 'agent.created',
          workspaceId,
          details: { slug: row.slug, primary: row.is_primary },
        })
        return { resourceId: row.slug, answer: describeAgent(row) }
      })
      announce(workspaceId, body.slug)
      return answer
    },

    getAgent: async ({ principal, params, deps }) =>
      describeAgent(await requireAgent(deps.database.db, principal.workspaceId, params.agentId)),

    updateAgent: async ({ principal, params, body, deps, access }) => {
      const { workspaceId } = principal
      requireKnownModel(deps.config, body.model)
      const row = await deps.database.transaction(async (tx) => {
        await lockContents(tx, workspaceId)
        const before = await requireAgent(tx, workspaceId, params.agentId)
        const change = changesOf(before, body)
        if (change.is_primary === false) throw primaryStays()
        if (Object.keys(change).length === 0) return before
        await access.spend(tx)
        if (change.is_primary) await store.updateNoPrimary(tx, workspaceId)
        const after = await store.updateAgent(tx, workspaceId, before.slug, change)
        if (!after) throw new ApiError('NOT_FOUND')
        await recordActivity(tx, principal, {
          type: 'agent.updated',
          workspaceId,
          details: { slug: after.slug, versionNumber: after.version_number, changed: Object.keys(change) },
        })
        return after
      })
      announce(workspaceId, row.slug)
      return describeAgent(row)
    },

    deleteAgent: async ({ principal, params, deps, access }) => {
      const { workspaceId } = principal
      const slug = await deps.database.transaction(async (tx) => {
        await lockContents(tx, workspaceId)
        const row = await requireAgent(tx, workspaceId, params.agentId)
        await access.spend(tx)
        if (!(await store.deleteAgent(tx, workspaceId, row.slug))) throw primaryStays()
        await recordActivity(tx, principal, {
          type: 'agent.deleted',
          workspaceId,
          details: { slug: row.slug },
        })
        return row.slug
      })
      announce(workspaceId, slug)
      return succeeded
    },
  })
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
  }
}

/** Only what is different from what is there. */
function changesOf(
  before: store.AgentRow,
  body: BodyOf<typeof agentRoutes.updateAgent>,
): Partial<store.NewAgent> {
  const wanted: { [Column in keyof store.NewAgent]?: store.NewAgent[Column] | undefined } = {
    name: body.name,
    description: body.description,
    instructions: body.instructions,
    model: body.model,
    tools: body.tools,
    skills: body.skills,
    is_primary: body.primary,
  }
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
    status: 'active',
    versionNumber: row.version_number,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
