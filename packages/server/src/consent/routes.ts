import {
  approvalPollIntervalSeconds,
  consentRoutes,
  describeScope,
  type GrantMode,
  succeeded,
  toDs,
} from '@guildhall/contract'
import { guessCode } from '../activation/activation.ts'
import {
  type Approvals,
  announceApprovals,
  describeKey,
  describeScopes,
  refusal,
  refuseDecision,
  waitForDecision,
} from '../approvals/approvals.ts'
import type { Bus } from '../bus/bus.ts'
import type { Deps } from '../deps.ts'
import { describeOwnKey, type KeyCheck } from '../keys/keys.ts'
import { bindRoutes } from '../operations/bind.ts'
import { ApiError } from '../operations/errors.ts'
import type { Principal } from '../operations/principal.ts'
import { parseRowId } from '../platform/ids.ts'
import { type Answered, connect, requestPermission } from './consent.ts'
import { removeScope } from './scope-kinds.ts'
import * as store from './store.ts'

const grantModes: readonly unknown[] = ['persistent', 'session', 'one_time'] satisfies GrantMode[]
const pollPaths = {
  consent: '/api/v1/agents/connect/poll/',
  permission: '/api/v1/agents/request-permission/poll/',
}

interface ConsentParts {
  readonly approvals: Approvals
  readonly check: KeyCheck
  readonly bus: Bus
  /** Of other features: the ids of what a key has running, oldest first. */
  listRunning(key: Principal): Promise<string[]>
}

export function consentHandlers({ approvals, check, bus, listRunning }: ConsentParts) {
  const announceRequest = async (
    deps: Deps,
    key: Principal,
    kind: 'consent' | 'permission',
    asked: Answered,
  ) => {
    if (asked.outcome === 'held' || !asked.isNew) return
    const { workspaceId, userId } = key
    await announceApprovals({ ...deps, bus }, { kind, workspaceId, userId, ids: [asked.id] })
  }

  return bindRoutes(consentRoutes, {
    connectAgent: async ({ principal, body, deps }) => {
      const asked = await connect(deps, principal, body.requestedScopes)
      await announceRequest(deps, principal, 'consent', asked)
      if (asked.outcome === 'held') {
        return { status: 200 as const, body: { status: 'active' as const, scopes: asked.scopes } }
      }
      const pending = {
        consent_id: asked.id,
        link_code: asked.linkCode ?? '',
        ...pollFacts('consent', asked.id),
      }
      return { status: 202 as const, body: { status: 'pending' as const, ...pending } }
    },

    pollConsent: async ({ principal, params, query, deps, signal }) => {
      const { userId, credentialId: keyId } = principal
      const own = { keyId, kind: 'consent', id: params.consentId } as const
      const found = await waitForDecision(deps, bus, own, { wait: query.wait, signal })
      const isGranted = found.state === 'granted'
      return {
        status: found.state,
        ...(isGranted && { scopes: (await describeOwnKey(deps.database.db, userId, keyId)).scopes }),
        ...(found.denyReason ? { deny_reason: found.denyReason } : {}),
      }
    },

    findConsentByCode: async ({ principal, body, deps }) => {
      const request = await guessCode(deps, principal.userId, body.code, (tx, code) =>
        approvals.findByLinkCode(tx, principal, code),
      )
      if (request.key_id === null || request.expires_at === null) throw new ApiError('NOT_FOUND')
      if (request.state !== 'pending') throw refuseDecision(request.state)
      return {
        consent_id: request.id,
        link_code: request.link_code ?? '',
        status: request.state,
        requested_scopes: describeScopes(request.scopes, request.key_scopes ?? []),
        key: describeKey(request.key_id, request),
        workspace: { id: request.workspace_id, name: request.workspace_name },
        created_at: request.created_at,
        expires_at: request.expires_at,
      }
    },

    approveConsent: async ({ principal, params, body }) => {
      const choice = { scopes: body.scopes, modes: body.modes, deviceAuth: body.device_auth }
      const decision = { status: 'granted', choice } as const
      const { effect } = await approvals.decide(principal, params.consentId, decision, 'consent')
      return { ...succeeded, scopes: [...(effect.scopes ?? [])] }
    },

    denyConsent: async ({ principal, params, body }) => {
      await approvals.decide(principal, params.consentId, refusal(body.reason), 'consent')
      return succeeded
    },

    requestPermission: async ({ principal, body, deps }) => {
      const mode = (grantModes.includes(body.mode) ? body.mode : 'session') as GrantMode
      const { scope, reason, action } = body
      const asked = await requestPermission(deps, principal, { scope, mode, reason, action })
      await announceRequest(deps, principal, 'permission', asked)
      if (asked.outcome === 'held') {
        return { status: 200 as const, body: { status: 'already_granted' as const, grant_token: null } }
      }
      const pending = { request_id: asked.id, ...pollFacts('permission', asked.id) }
      return { status: 202 as const, body: { status: 'pending' as const, ...pending } }
    },

    pollPermission: async ({ principal, params, query, deps, signal }) => {
      const own = { keyId: principal.credentialId, kind: 'permission', id: params.requestId } as const
      const found = await waitForDecision(deps, bus, own, { wait: query.wait, signal })
      if (found.state !== 'granted') {
        return { status: found.state, ...(found.denyReason ? { deny_reason: found.denyReason } : {}) }
      }
      const mode = found.grantedMode ?? 'session'
      const isSpent = mode === 'one_time' && (await store.findSpent(deps.database.db, own.id)) !== undefined
      return {
        status: found.state,
        mode,
        ...(mode === 'persistent' ? {} : { expires_at: found.grantedUntil }),
        ...(isSpent ? { consumed: true as const } : {}),
      }
    },

    approvePermission: async ({ principal, params, body }) => {
      const choice = { mode: body.mode, deviceAuth: body.device_auth }
      const decision = { status: 'granted', choice } as const
      const { effect } = await approvals.decide(principal, params.requestId, decision, 'permission')
      return { ...succeeded, mode: effect.mode ?? 'session', expires_at: effect.until ?? null }
    },

    denyPermission: async ({ principal, params, body }) => {
      await approvals.decide(principal, params.requestId, refusal(body.reason), 'permission')
      return succeeded
    },

    removeScope: async ({ principal, params, deps }) => {
      const keyId = parseRowId(params.keyId)
      if (keyId === undefined || (params.scope !== '*' && !describeScope(params.scope)))
        throw new ApiError('NOT_FOUND')
      const scopes = await removeScope(deps, principal, keyId, params.scope)
      await check.announceChange(keyId)
      return { ...succeeded, key_id: keyId, scopes }
    },

    getAgentSelf: async ({ principal, deps }) => {
      const { db } = deps.database
      const own = await describeOwnKey(db, principal.userId, principal.credentialId)
      const grants = await store.listLiveGrants(db, principal.credentialId)
      const { max, windowSeconds } = deps.config.limits.rest
      return {
        key: own.key,
        workspace: own.workspace,
        user: { id: principal.userId },
        mode: principal.mode,
        activated: own.activated,
        scopes: [
          ...own.scopes.map((scope) => ({ scope, mode: 'persistent' as const, expires_at: null })),
          ...grants.map(({ scope, mode, expires_at }) => ({ scope, mode, expires_at })),
        ],
        budget: {
          spent: toDs(own.spentMilliDs),
          limit: toDs(own.spendLimitMilliDs),
        },
        rate: { limit: max, windowSeconds },
        running: await listRunning(principal),
        mcp: principal.mode === 'basedmode',
      }
    },
  })
}

function pollFacts(kind: 'consent' | 'permission', id: string) {
  return { poll_url: pollPaths[kind] + id, poll_interval_seconds: approvalPollIntervalSeconds }
}
