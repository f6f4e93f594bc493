import {
  approvalPollIntervalSeconds,
  consentRoutes,
  describeScope,
  type GrantMode,
  succeeded,
  toDs,
} from '@guildhall/contract'
import { guessCode } from '../activation/activation.ts'
import type { Deps } from '../deps.ts'
import { describeOwnKey, type KeyCheck } from '../keys/keys.ts'
import type { Live } from '../live/live.ts'
import { bindRoutes } from '../operations/bind.ts'
import { ApiError } from '../operations/errors.ts'
import type { Principal } from '../operations/principal.ts'
import { parseRowId } from '../platform/ids.ts'
import { type Asked, connect, requestPermission } from './consent.ts'
import { approve, deny, removeScope } from './decide.ts'
import { describeKey, describeScopes } from './describe.ts'
import { type RequestState, refuseDecision } from './lifecycle.ts'
import * as store from './store.ts'

const grantModes: readonly unknown[] = ['persistent', 'session', 'one_time'] satisfies GrantMode[]
const pollPaths = {
  consent: '/api/v1/agents/connect/poll/',
  permission: '/api/v1/agents/request-permission/poll/',
}

interface ConsentParts {
  readonly check: KeyCheck
  readonly live: Live
  /** Of other features: the ids of what a key has running, oldest first. */
  listRunning(key: Principal): Promise<string[]>
}

export function consentHandlers({ check, live, listRunning }: ConsentParts) {
  /** Word of a decision: to the person's other devices, to the agent that waits, and to every process's memory. */
  const announceDecision = async (request: store.RequestRow, status: RequestState) => {
    await check.announceChange(request.key_id)
    live.wake(decisionChannel(request.id))
    live.publish(
      {
        type: 'approval-resolved',
        workspaceId: request.workspace_id,
        approvalId: request.id,
        kind: request.kind,
        status,
      },
      { userId: request.user_id },
    )
  }
  const announceRequest = (key: Principal, kind: 'consent' | 'permission', asked: Asked) => {
    if (asked.outcome === 'held' || !asked.isNew) return
    live.publish(
      { type: 'approval-requested', workspaceId: key.workspaceId, approvalId: asked.id, kind },
      { userId: key.userId },
    )
  }
  const waitForDecision = (
    deps: Deps,
    key: Principal,
    kind: 'consent' | 'permission',
    id: string,
    wait: Wait,
  ) => pollRequest(deps, live, { keyId: key.credentialId, kind, id }, wait)

  return bindRoutes(consentRoutes, {
    connectAgent: async ({ principal, body, deps }) => {
      const asked = await connect(deps, principal, body.requestedScopes)
      announceRequest(principal, 'consent', asked)
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
      const found = await waitForDecision(deps, principal, 'consent', params.consentId, {
        wait: query.wait,
        signal,
      })
      return {
        status: found.state,
        ...(found.state === 'granted' ? { scopes: found.scopes } : {}),
        ...(found.denyReason ? { deny_reason: found.denyReason } : {}),
      }
    },

    findConsentByCode: async ({ principal, body, deps }) => {
      const request = await guessCode(deps, principal.userId, body.code, (tx, code) =>
        store.findByLinkCode(tx, principal.userId, code),
      )
      if (request.state !== 'pending') throw refuseDecision(request.state)
      return {
        consent_id: request.id,
        link_code: request.link_code ?? '',
        status: request.state,
        requested_scopes: describeScopes(request.scopes, request.key_scopes),
        key: describeKey(request),
        workspace: { id: request.workspace_id, name: request.workspace_name },
        created_at: request.created_at,
        expires_at: request.expires_at,
      }
    },

    approveConsent: async ({ principal, params, body, deps }) => {
      const { request, scopes } = await approve(deps, principal, {
        kind: 'consent',
        id: params.consentId,
        scopes: body.scopes,
        ...(body.modes ? { modes: body.modes } : {}),
        deviceAuth: body.device_auth,
      })
      await announceDecision(request, 'granted')
      return { ...succeeded, scopes }
    },

    denyConsent: async ({ principal, params, body, deps }) => {
      await announceDecision(await deny(deps, principal, 'consent', params.consentId, body.reason), 'denied')
      return succeeded
    },

    requestPermission: async ({ principal, body, deps }) => {
      const mode = (grantModes.includes(body.mode) ? body.mode : 'session') as GrantMode
      const { scope, reason, action } = body
      const asked = await requestPermission(deps, principal, { scope, mode, reason, action })
      announceRequest(principal, 'permission', asked)
      if (asked.outcome === 'held') {
        return { status: 200 as const, body: { status: 'already_granted' as const, grant_token: null } }
      }
      const pending = { request_id: asked.id, ...pollFacts('permission', asked.id) }
      return { status: 202 as const, body: { status: 'pending' as const, ...pending } }
    },

    pollPermission: async ({ principal, params, query, deps, signal }) => {
      const found = await waitForDecision(deps, principal, 'permission', params.requestId, {
        wait: query.wait,
        signal,
      })
      if (found.state !== 'granted') {
        return { status: found.state, ...(found.denyReason ? { deny_reason: found.denyReason } : {}) }
      }
      const mode = found.grantedMode ?? 'session'
      return {
        status: found.state,
        mode,
        ...(mode === 'persistent' ? {} : { expires_at: found.grantedUntil }),
        ...(found.consumed ? { consumed: true as const } : {}),
      }
    },

    approvePermission: async ({ principal, params, body, deps }) => {
      const { request, until } = await approve(deps, principal, {
        kind: 'permission',
        id: params.requestId,
        ...(body.mode ? { mode: body.mode } : {}),
        deviceAuth: body.device_auth,
      })
      await announceDecision(request, 'granted')
      return { ...succeeded, mode: body.mode ?? request.mode ?? 'session', expires_at: until }
    },

    denyPermission: async ({ principal, params, body, deps }) => {
      await announceDecision(
        await deny(deps, principal, 'permission', params.requestId, body.reason),
        'denied',
      )
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

interface Wait {
  wait?: number | undefined
  signal: AbortSignal
}

function decisionChannel(requestId: string): string {
  return `decision:${requestId}`
}

interface OwnRequest {
  state: RequestState
  grantedMode: GrantMode | null
  grantedUntil: string | null
  denyReason: string | null
  scopes: string[]
  consumed: boolean
}

const lookAgainMs = 1000

/**
 * Answers at once, or with `wait` as soon as the person has decided. Woken by word from whichever process took the
 * decision; looks by itself every second, because word can be lost.
 */
async function pollRequest(
  deps: Deps,
  live: Live,
  own: { keyId: number; kind: 'consent' | 'permission'; id: string },
  { wait = 0, signal }: Wait,
): Promise<OwnRequest> {
  const end = performance.now() + wait * 1000
  for (;;) {
    const left = end - performance.now()
    const enough = new AbortController()
    // Listening begins before looking, or a decision in between would be missed.
    const woken =
      left > 0 && !deps.stopping.aborted
        ? live.wait(
            decisionChannel(own.id),
            AbortSignal.any([signal, enough.signal]),
            Math.min(left, lookAgainMs),
          )
        : undefined
    try {
      const [found] = await deps.database.hot<OwnRequest>(store.findOwnRequestStatement, [
        own.id,
        own.keyId,
        own.kind,
      ])
      if (!found) throw new ApiError('NOT_FOUND')
      if (found.state !== 'pending' || !woken || signal.aborted) return found
      await woken
    } finally {
      enough.abort()
    }
  }
}
