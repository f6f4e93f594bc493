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

export const ReceivedInvitation = Type.Object(
  {
    id: Uuid,
    workspace: Type.Object({ name: Nullable(Type.String()) }),
    invitedBy: Type.Object({ name: Nullable(Type.String()), email: Nullable(Type.String()) }),
    role: Role,
    createdAt: Timestamp,
    expiresAt: Timestamp,
  },
  { title: 'ReceivedInvitation' },
)
export type ReceivedInvitation = Static<typeof ReceivedInvitation>

const Page = { nextCursor: Type.Null() }
const IdParam = Type.Object({ id: Type.String() })
const shared = { tag: 'workspaces', audience: 'session', limits: ['rest'] } as const

export const invitationRoutes = defineRoutes({
  inviteMember: {
    changes: ['members'],
    ...shared,
    method: 'POST',
    path: '/api/v1/workspaces/current/members',
    summary: 'Invite a person by email address; owners only. Answers alike whether or not anybody has it',
    description: 'The person joins only by accepting. 409 when too many invitations wait; withdraw some.',
    resource: 'members',
    verb: 'invite',
    creates: true,
    body: Type.Object({
      email: Type.String({ minLength: 3, maxLength: 320 }),
      role: Type.Optional(Role),
    }),
    responses: { 202: Invitation },
    errors: ['INVALID_INPUT', 'CONFLICT'],
    example: { body: { email: 'grace@example.com', role: 'member' } },
  },
  listWorkspaceInvitations: {
    ...shared,
    method: 'GET',
    path: '/api/v1/workspaces/current/invitations',
    summary: 'Who has been invited and has not answered; owners only',
    description: 'They expire after 14 days; nothing of the workspace is told before they are accepted.',
    resource: 'members',
    verb: 'invitations',
    page: 'cursor',
    responses: { 200: Type.Object({ items: Type.Array(Invitation), ...Page }) },
    errors: [],
  },
  withdrawInvitation: {
    changes: ['members'],
    ...shared,
    method: 'DELETE',
    path: '/api/v1/workspaces/current/invitations/:id',
    summary: 'Take an invitation back; owners only',
    description: '404 once it was answered, withdrawn or has expired.',
    resource: 'members',
    verb: 'withdraw',
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
    description: 'Only for an address that the identity provider has verified.',
    resource: 'invitations',
    verb: 'list',
    page: 'cursor',
    responses: {
      200: Type.Object({
        items: Type.Array(ReceivedInvitation),
        ...Page,
      }),
    },
    errors: [],
  },
  acceptInvitation: {
    changes: ['invitations', 'workspaces'],
    ...shared,
    method: 'POST',
    path: '/api/v1/invitations/:id/accept',
    summary: 'Become a member',
    description:
      'Answers the workspace to act in. 404 when it was withdrawn or has expired: ask for a new one.',
    resource: 'invitations',
    verb: 'accept',
    params: IdParam,
    responses: { 200: Type.Object({ success: Type.Literal(true), workspace: WorkspaceRef }) },
    errors: ['NOT_FOUND', 'CONFLICT'],
  },
  declineInvitation: {
    changes: ['invitations'],
    ...shared,
    method: 'POST',
    path: '/api/v1/invitations/:id/decline',
    summary: 'Refuse an invitation',
    description: 'Whoever sent it may invite again.',
    resource: 'invitations',
    verb: 'decline',
    params: IdParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
})
