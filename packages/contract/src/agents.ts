import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { Nullable, Success, Timestamp } from './shapes.ts'
import { slugPattern } from './slug.ts'

export const reservedAgentSlugs = ['connect', 'request-permission', 'me'] as const
export const agentsPerWorkspace = 200

const AgentParam = Type.Object({ agentId: Type.String() })
const Names = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: 100 })

export const Agent = Type.Object(
  {
    id: Type.String({ description: '{workspaceUuid}:{slug}' }),
    slug: Type.String(),
    name: Type.String(),
    description: Type.String(),
    instructions: Type.String(),
    model: Nullable(Type.String()),
    primary: Type.Boolean(),
    tools: Type.Array(Type.String()),
    skills: Type.Array(Type.String()),
    status: Type.String(),
    versionNumber: Type.Number(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'Agent' },
)
export type Agent = Static<typeof Agent>

const fields = {
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 120 })),
  description: Type.Optional(Type.String({ maxLength: 1024 })),
  instructions: Type.Optional(Type.String({ maxLength: 50_000 })),
  model: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 200 })),
  tools: Type.Optional(Names),
  skills: Type.Optional(Names),
}

const shared = { tag: 'agents', audience: 'credential', limits: ['rest'] } as const

export const agentRoutes = defineRoutes({
  listAgents: {
    ...shared,
    method: 'GET',
    path: '/api/v1/agents',
    summary: 'The agents of this workspace, the primary one first',
    description: 'A workspace always has a primary one.',
    resource: 'agents',
    verb: 'list',
    page: 'bare',
    scopes: ['agent:list'],
    responses: { 200: Type.Array(Agent) },
    errors: [],
  },
  createAgent: {
    ...shared,
    method: 'POST',
    path: '/api/v1/agents',
    summary: 'Add an agent to this workspace',
    description: '409 when the slug is taken; 400 when it is reserved, or the workspace has 200 agents.',
    resource: 'agents',
    verb: 'create',
    scopes: ['workspace:files:write'],
    creates: true,
    body: Type.Object({
      slug: Type.String({ pattern: slugPattern.source }),
      ...fields,
      primary: Type.Optional(Type.Boolean()),
    }),
    responses: { 201: Agent },
    errors: ['INVALID_INPUT', 'CONFLICT'],
    example: { body: { slug: 'writer', name: 'Writer', skills: ['weekly-report'] } },
  },
  getAgent: {
    ...shared,
    method: 'GET',
    path: '/api/v1/agents/:agentId',
    summary: 'One agent, by its id or its slug',
    description: '404 also for an agent of another workspace.',
    resource: 'agents',
    verb: 'get',
    scopes: ['agent:list'],
    params: AgentParam,
    responses: { 200: Agent },
    errors: ['NOT_FOUND'],
  },
  updateAgent: {
    ...shared,
    method: 'PATCH',
    path: '/api/v1/agents/:agentId',
    summary: 'Change an agent; making it primary takes that from the one before',
    description: 'What is left out stays; each change makes a new version.',
    resource: 'agents',
    verb: 'update',
    scopes: ['workspace:files:write'],
    params: AgentParam,
    body: Type.Object({ ...fields, primary: Type.Optional(Type.Boolean()) }),
    responses: { 200: Agent },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT'],
    example: { body: { instructions: 'Write plainly.', primary: true } },
  },
  deleteAgent: {
    ...shared,
    method: 'DELETE',
    path: '/api/v1/agents/:agentId',
    summary: 'Remove an agent; the primary one stays until another is',
    description: '409 for the primary one: make another primary first.',
    resource: 'agents',
    verb: 'delete',
    scopes: ['workspace:files:write'],
    params: AgentParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND', 'CONFLICT'],
  },
})
