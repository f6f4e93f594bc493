import { type Static, Type } from 'typebox'
import { GrantModeSchema } from './consent.ts'
import { defineRoutes } from './route.ts'
import { Mode, Nullable, Timestamp, Uuid, WorkspaceRef } from './shapes.ts'

/** What a key asked its person and waits for. */
export const PendingRequest = Type.Object(
  {
    id: Type.String(),
    kind: Type.Enum(['consent', 'permission', 'ask']),
    scopes: Type.Array(Type.String()),
    approval_url: Type.String(),
    poll_url: Type.String(),
    created_at: Timestamp,
    expires_at: Timestamp,
  },
  { title: 'PendingRequest' },
)
export type PendingRequest = Static<typeof PendingRequest>

export const Me = Type.Object(
  {
    credential: Type.Enum(['key', 'session', 'oauth']),
    user: Type.Object({
      id: Uuid,
      email: Type.Optional(Nullable(Type.String({ description: 'Told to a session only' }))),
      name: Type.Optional(Nullable(Type.String({ description: 'Told to a session only' }))),
    }),
    workspace: WorkspaceRef,
    mode: Mode,
    scopes: Type.Array(Type.String(), {
      description: 'Held for good: `*` for all, as a session has it; agents/me tells more of a key',
    }),
    expiresAt: Type.Optional(Nullable(Timestamp)),
    key: Type.Optional(Type.Object({ id: Type.Number(), label: Type.String(), prefix: Type.String() })),
    session: Type.Optional(Type.Object({ id: Type.Number() })),
    grant: Type.Optional(Type.Object({ id: Type.Number() }, { description: 'What an app was allowed' })),
  },
  { title: 'Me' },
)
export type Me = Static<typeof Me>

/** What whoever calls is told about themselves. */
export const selfRoutes = defineRoutes({
  getMe: {
    method: 'GET',
    path: '/api/v1/me',
    summary: 'Whose credential this is, where it works and what it may do',
    description:
      'For every credential alike: the quickest way to find out whether one still works. 401 means that it does not.',
    resource: 'session',
    verb: 'me',
    tag: 'meta',
    audience: 'credential',
    limits: ['rest'],
    responses: { 200: Me },
    errors: [],
  },
  getAgentSelf: {
    method: 'GET',
    path: '/api/v1/agents/me',
    summary: 'What this key is and may do right now',
    description:
      'The first thing an agent should read: workspace, scopes, budget, what runs and what waits for a decision.',
    resource: 'permissions',
    verb: 'me',
    tag: 'agents',
    audience: 'key',
    limits: ['rest'],
    responses: {
      200: Type.Object({
        key: Type.Object({
          id: Type.Number(),
          label: Type.String(),
          prefix: Type.String(),
          expiresAt: Nullable(Timestamp),
        }),
        workspace: WorkspaceRef,
        user: Type.Object({ id: Uuid }),
        mode: Mode,
        activated: Type.Boolean(),
        scopes: Type.Array(
          Type.Object({ scope: Type.String(), mode: GrantModeSchema, expires_at: Nullable(Timestamp) }),
        ),
        budget: Type.Object({ spent: Type.Number(), limit: Nullable(Type.Number()) }),
        rate: Type.Object({ limit: Type.Number(), windowSeconds: Type.Number() }),
        running: Type.Array(Type.String(), {
          description: 'Executions that work and runs that wait or advance, by id, of this key',
        }),
        pending: Type.Array(PendingRequest, {
          description: 'What this key asked and nobody has decided yet',
        }),
        mcp: Type.Boolean({ description: 'Whether this account may use the MCP transport' }),
      }),
    },
    errors: [],
    example: {
      answers: {
        200: {
          key: { id: 12, label: 'Nightly bot', prefix: 'guild_live_3fX9aB', expiresAt: null },
          workspace: { id: '0198c1f2-7c00-7000-8000-000000000001', name: 'Acme' },
          user: { id: '0198c1f2-7c00-7000-8000-00000000000a' },
          mode: 'paygmode',
          activated: true,
          scopes: [{ scope: 'profile:read', mode: 'persistent', expires_at: null }],
          budget: { spent: 41.5, limit: 500 },
          rate: { limit: 100, windowSeconds: 60 },
          running: [],
          pending: [],
          mcp: true,
        },
      },
    },
  },
})
