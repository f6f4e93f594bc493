import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { Limit, Name, Nullable, Success, Timestamp, Uuid, WorkspaceRef } from './shapes.ts'

export const Role = Type.Enum(['owner', 'member'])

export const Workspace = Type.Object(
  {
    id: Uuid,
    name: Nullable(Type.String()),
    kind: Type.Enum(['personal', 'team']),
    role: Role,
    createdAt: Timestamp,
    current: Type.Boolean({ description: 'The workspace this request acts in' }),
  },
  { title: 'Workspace' },
)
export type Workspace = Static<typeof Workspace>

export const Member = Type.Object(
  {
    userId: Uuid,
    email: Nullable(Type.String()),
    name: Nullable(Type.String()),
    role: Role,
    joinedAt: Timestamp,
  },
  { title: 'Member' },
)
export type Member = Static<typeof Member>

export const workspaceRoutes = defineRoutes({
  listWorkspaces: {
    method: 'GET',
    path: '/api/v1/workspaces',
    summary: "The person's workspaces; for a key or an OAuth token the one it is bound to",
    description: 'The id of one of them goes into x-workspace-id, or becomes the default with PUT current.',
    resource: 'workspaces',
    verb: 'list',
    page: 'bare',
    tag: 'workspaces',
    audience: 'credential',
    limits: ['rest'],
    responses: { 200: Type.Array(Workspace) },
    errors: [],
  },
  createWorkspace: {
    method: 'POST',
    path: '/api/v1/workspaces',
    summary: 'Create a team workspace',
    description: 'The caller becomes its owner. Needs only a name; invite the others afterwards.',
    resource: 'workspaces',
    verb: 'create',
    tag: 'workspaces',
    audience: 'session',
    changes: ['workspaces'],
    limits: ['rest'],
    creates: true,
    body: Type.Object({ name: Name(120) }),
    responses: { 201: Workspace },
    errors: ['INVALID_INPUT', 'CONFLICT'],
    example: { body: { name: 'Acme' } },
  },
  setCurrentWorkspace: {
    method: 'PUT',
    path: '/api/v1/workspaces/current',
    summary: "Set a session's default workspace; a key accepts only the workspace it is bound to",
    description: '409 for a key or a token that is bound to another workspace; pair one there instead.',
    resource: 'workspaces',
    verb: 'setCurrent',
    tag: 'workspaces',
    audience: 'credential',
    changes: ['session'],
    limits: ['rest'],
    body: Type.Object({ workspaceId: Type.String({ minLength: 1, maxLength: 64 }) }),
    responses: { 200: Type.Object({ success: Type.Literal(true), workspace: WorkspaceRef }) },
    errors: ['INVALID_INPUT', 'CONFLICT'],
    example: { body: { workspaceId: '0198c1f2-7c00-7000-8000-000000000001' } },
  },
  listMembers: {
    method: 'GET',
    path: '/api/v1/workspaces/current/members',
    summary: 'Who belongs to the workspace',
    description: 'In the order in which they joined; follow nextCursor until it is null.',
    resource: 'members',
    verb: 'list',
    page: 'cursor',
    tag: 'workspaces',
    audience: 'session',
    limits: ['rest'],
    query: Type.Object({
      limit: Limit(200),
      cursor: Type.Optional(Type.String({ maxLength: 300 })),
    }),
    responses: { 200: Type.Object({ items: Type.Array(Member), nextCursor: Nullable(Type.String()) }) },
    errors: ['INVALID_INPUT'],
  },
  removeMember: {
    method: 'DELETE',
    path: '/api/v1/workspaces/current/members/:userId',
    summary: "Remove a member, or leave; the member's keys and grants of apps here end for good",
    description: 'Only owners remove others. 409 for the last owner: make somebody else one first.',
    resource: 'members',
    verb: 'remove',
    tag: 'workspaces',
    audience: 'session',
    changes: ['members'],
    limits: ['rest'],
    params: Type.Object({ userId: Type.String() }),
    responses: { 200: Success },
    errors: ['NOT_FOUND', 'CONFLICT'],
  },
})
