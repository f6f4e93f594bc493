import { fullAccess, type Me, selfRoutes, toDs } from '@guildhall/contract'
import { approvalUrl, listOwnPending } from '#access/approvals/approvals.ts'
import { describeOwnKey } from '#access/keys/keys.ts'
import { findSession } from '#accounts/sessions/sessions.ts'
import { findWorkspace } from '#accounts/workspaces/workspaces.ts'
import { type BoundRoute, bindRoutes } from '#operations/bind.ts'
import type { Principal } from '#operations/principal.ts'
import type { Deps } from '#platform/deps.ts'
import * as store from './store.ts'

const pollPaths = {
  consent: '/api/v1/agents/connect/poll/',
  permission: '/api/v1/agents/request-permission/poll/',
  ask: '/api/v1/agents/ask/poll/',
}

export function pollUrl(kind: keyof typeof pollPaths, id: string): string {
  return pollPaths[kind] + id
}

/** What whoever calls is told about themselves. */
export function selfHandlers(listRunning: ListRunning): BoundRoute[] {
  return bindRoutes(selfRoutes, {
    getMe: ({ principal, deps }) => describeMe(deps, principal),
    getAgentSelf: ({ principal, deps }) => describeSelf(deps, principal, listRunning),
  })
}

/** What all credentials have in common, and the little that only one kind has. Nothing that a scope is needed for. */
async function describeMe(deps: Deps, principal: Principal): Promise<Me> {
  const { kind, userId, workspaceId, mode, credentialId: id } = principal
  const workspace = await findWorkspace(deps.database, workspaceId, userId)
  const common = { credential: kind, workspace: { id: workspaceId, name: workspace?.name ?? null }, mode }
  if (kind === 'session') {
    const session = await findSession(deps.database.db, id)
    const user = { id: userId, email: session?.email ?? null, name: session?.name ?? null }
    return { ...common, user, scopes: [fullAccess], expiresAt: session?.expires_at ?? null, session: { id } }
  }
  const user = { id: userId }
  if (kind === 'oauth') {
    const scopes = principal.scopes.filter((scope) => scope !== fullAccess)
    return { ...common, user, scopes, grant: { id } }
  }
  const own = await describeOwnKey(deps.database.db, userId, id)
  const { expiresAt, ...key } = own.key
  return { ...common, user, scopes: own.scopes, expiresAt, key }
}

/** Of other features: the ids of what a key has running, oldest first. */
export type ListRunning = (key: Principal) => Promise<string[]>

/** What an agent is told about itself: its key, what that may do, what it does. */
async function describeSelf(deps: Deps, key: Principal, listRunning: ListRunning) {
  const { db } = deps.database
  // At once: a busy process takes its time between one answer of the database and the next question.
  const [own, grants, pending, running] = await Promise.all([
    describeOwnKey(db, key.userId, key.credentialId),
    store.listLiveGrants(db, key.credentialId),
    listOwnPending(db, key.credentialId),
    listRunning(key),
  ])
  const { max, windowSeconds } = deps.config.limits.rest
  return {
    key: own.key,
    workspace: own.workspace,
    user: { id: key.userId },
    mode: key.mode,
    activated: own.activated,
    scopes: [
      ...own.scopes.map((scope) => ({ scope, mode: 'persistent' as const, expires_at: null })),
      ...grants.map(({ scope, mode, expires_at }) => ({ scope, mode, expires_at })),
    ],
    budget: { spent: toDs(own.spentMilliDs), limit: toDs(own.spendLimitMilliDs) },
    rate: { limit: max, windowSeconds },
    running,
    pending: pending.map(({ id, kind, scopes, created_at, expires_at }) => ({
      id,
      kind,
      scopes,
      approval_url: approvalUrl(deps.config, id),
      poll_url: pollUrl(kind, id),
      created_at,
      expires_at,
    })),
    mcp: key.mode === 'basedmode',
  }
}
