import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { Name, Nullable, Success, Timestamp } from './shapes.ts'
import { slugPattern } from './slug.ts'
import { longTexts } from './weight.ts'

export const reservedAgentSlugs = ['connect', 'request-permission', 'ask', 'me'] as const
export const agentsPerWorkspace = 200
/** Of all their instructions and descriptions together: they are listed in one answer. */
export const agentBytesPerWorkspace = 2 * 1024 * 1024
/** Of one agent, as many as are kept. */
export const agentVersionsKept = 100

const AgentParam = Type.Object({ agentId: Type.String() })
const Names = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: 100 })

const Outside = Type.Unsafe<'ask' | 'never'>({
  enum: ['ask', 'never'],
  description: 'Whether the agent may ask for what reaches outside of the house',
})

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
    maxCostPerRun: Nullable(Type.Number({ description: 'In Ds' })),
    outside: Outside,
    status: Type.String(),
    versionNumber: Type.Number(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'Agent' },
)
export type Agent = Static<typeof Agent>

export const AgentVersion = Type.Object(
  {
    versionNumber: Type.Number(),
    name: Type.String(),
    description: Type.String(),
    instructions: Type.String(),
    model: Nullable(Type.String()),
    tools: Type.Array(Type.String()),
    skills: Type.Array(Type.String()),
    maxCostPerRun: Nullable(Type.Number({ description: 'In Ds' })),
    outside: Outside,
    createdBy: Nullable(Type.String()),
    note: Nullable(Type.String()),
    createdAt: Timestamp,
    active: Type.Boolean(),
  },
  { title: 'AgentVersion' },
)
export type AgentVersion = Static<typeof AgentVersion>

const fields = {
  name: Type.Optional(Name(120)),
  description: Type.Optional(Type.String({ maxLength: 1024 })),
  instructions: Type.Optional(Type.String({ maxLength: 50_000 })),
  model: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 200 })),
  tools: Type.Optional(Names),
  skills: Type.Optional(Names),
  maxCostPerRun: Type.Optional(
    Type.Unsafe<number | null>({
      type: ['number', 'null'],
      minimum: 1,
      maximum: 1_000_000,
      description: 'In Ds; null: as the deployment has it',
    }),
  ),
  outside: Type.Optional(Outside),
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
    changes: ['agents'],
    ...shared,
    method: 'POST',
    path: '/api/v1/agents',
    summary: 'Add an agent to this workspace',
    description: '409 when the slug is taken; 400 when it is reserved, or the workspace has 200 agents.',
    resource: 'agents',
    verb: 'create',
    scopes: ['workspace:files:write'],
    creates: true,
    weight: longTexts,
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
    changes: ['agents'],
    ...shared,
    method: 'PATCH',
    path: '/api/v1/agents/:agentId',
    summary: 'Change an agent; making it primary takes that from the one before',
    description: 'What is left out stays; each change makes a new version.',
    resource: 'agents',
    verb: 'update',
    scopes: ['workspace:files:write'],
    params: AgentParam,
    weight: longTexts,
    body: Type.Object({ ...fields, primary: Type.Optional(Type.Boolean()) }),
    responses: { 200: Agent },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT'],
    example: { body: { instructions: 'Write plainly.', primary: true } },
  },
  listAgentVersions: {
    ...shared,
    method: 'GET',
    path: '/api/v1/agents/:agentId/versions',
    summary: 'What an agent was at each of its versions, newest first',
    description: 'The last 100 are kept; the `active` one is what the agent is now.',
    resource: 'agents',
    verb: 'versions',
    page: 'bare',
    scopes: ['agent:list'],
    params: AgentParam,
    responses: { 200: Type.Array(AgentVersion) },
    errors: ['NOT_FOUND'],
  },
  restoreAgentVersion: {
    changes: ['agents'],
    ...shared,
    method: 'POST',
    path: '/api/v1/agents/:agentId/versions/:versionNumber/restore',
    summary: 'Make an agent again what it was; nothing is deleted',
    description: 'Adds a version with the old content; whether the agent is primary stays as it is.',
    resource: 'agents',
    verb: 'restore',
    creates: true,
    scopes: ['workspace:files:write'],
    params: Type.Object({ agentId: Type.String(), versionNumber: Type.String() }),
    responses: { 200: Agent },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
  },
  deleteAgent: {
    changes: ['agents'],
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
