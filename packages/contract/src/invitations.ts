import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { Nullable, Success, Timestamp, Uuid, WorkspaceRef } from './shapes.ts'
import { Role } from './workspaces.ts'

export const invitationLifetimeSeconds = 14 * 24 * 3600
/** How many may wait: of one workspace, for one address, and for one address by one person. */
export const invitationsPerWorkspace = 200
export const invitationsPerAddress = 100
export const invitationsPerInviter = 5

export const Invitation = Type.Object(
  {
    id: Uuid,
    email: Type.String(),
    role: Role,
    status: Type.Literal('pending'),
    createdAt: Timestamp,
    expiresAt: Timestamp,
  },
  { title: 'Invitation' },
)
export type Invitation = Static<typeof Invitation>

const Page = { nextCursor: Type.Null() }
const IdParam = Type.Object({ id: Type.String() })
const shared = { tag: 'workspaces', audience: 'session', limits: ['rest'] } as const

export const invitationRoutes = defineRoutes({
  inviteMember: {
    ...shared,
    method: 'POST',
    path: '/api/v1/workspaces/current/members',
    summary: 'Invite a person by email address; owners only. Answers alike whether or not anybody has it',
    creates: true,
    body: Type.Object({
      email: Type.String({ minLength: 3, maxLength: 320 }),
      role: Type.Optional(Role),
    }),
    responses: { 202: Invitation },
    errors: ['INVALID_INPUT', 'CONFLICT'],
  },
  listWorkspaceInvitations: {
    ...shared,
    method: 'GET',
    path: '/api/v1/workspaces/current/invitations',
    summary: 'Who has been invited and has not answered; owners only',
    responses: { 200: Type.Object({ items: Type.Array(Invitation), ...Page }) },
    errors: [],
  },
  withdrawInvitation: {
    ...shared,
    method: 'DELETE',
    path: '/api/v1/workspaces/current/invitations/:id',
    summary: 'Take an invitation back; owners only',
    params: IdParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
  listInvitations: {
    ...shared,
    method: 'GET',
    path: '/api/v1/invitations',
    summary:
      'What this person has been invited to, by their verified address. The names are what the inviters say',
    responses: {
      200: Type.Object({
        items: Type.Array(
          Type.Object({
            id: Uuid,
            workspace: Type.Object({ name: Nullable(Type.String()) }),
            invitedBy: Type.Object({ name: Nullable(Type.String()), email: Nullable(Type.String()) }),
            role: Role,
            createdAt: Timestamp,
            expiresAt: Timestamp,
          }),
        ),
        ...Page,
      }),
    },
    errors: [],
  },
  acceptInvitation: {
    ...shared,
    method: 'POST',
    path: '/api/v1/invitations/:id/accept',
    summary: 'Become a member',
    params: IdParam,
    responses: { 200: Type.Object({ success: Type.Literal(true), workspace: WorkspaceRef }) },
    errors: ['NOT_FOUND', 'CONFLICT'],
  },
  declineInvitation: {
    ...shared,
    method: 'POST',
    path: '/api/v1/invitations/:id/decline',
    summary: 'Refuse an invitation',
    params: IdParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
})
