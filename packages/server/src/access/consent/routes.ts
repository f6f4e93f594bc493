import {
  type AnswerOf,
  approvalPollIntervalSeconds,
  consentRoutes,
  describeScope,
  type GrantMode,
  type Route,
  succeeded,
} from '@guildhall/contract'
import { describeScopes, guessCode } from '#access/activation/activation.ts'
import {
  type Approvals,
  announceApprovals,
  approvalUrl,
  type Decision,
  describeKey,
  type Effect,
  refusal,
  refuseDecision,
  waitForDecision,
} from '#access/approvals/approvals.ts'
import { describeOwnKey, type KeyCheck } from '#access/keys/keys.ts'
import { bindRoutes, type Call } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { changeOnce, createOnce } from '#operations/idempotency/idempotency.ts'
import type { Principal } from '#operations/principal.ts'
import type { Bus } from '#platform/bus.ts'
import type { Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { parseRowId } from '#platform/ids.ts'
import { type Answered, connect, requestPermission } from './consent.ts'
import { type ListWork, oneKeyHandlers } from './one-key.ts'
import { removeScope } from './scope-kinds.ts'
import { type ListRunning, pollUrl, selfHandlers } from './self.ts'
import * as store from './store.ts'
import { type TouchReaders, touchedHandlers } from './touched.ts'

const grantModes: readonly unknown[] = ['persistent', 'session', 'one_time'] satisfies GrantMode[]
interface ConsentParts {
  readonly approvals: Approvals
  readonly check: KeyCheck
  readonly bus: Bus
  readonly listRunning: ListRunning
  readonly listWork: ListWork
  readonly touchReaders: TouchReaders
}

export function consentFeature(
  { database }: Deps,
  { approvals, check, bus, listRunning, listWork, touchReaders }: ConsentParts,
): Feature {
  const askOnce = async <R extends Route & { audience: 'key' }>(
    call: Call<R>,
    kind: 'consent' | 'permission',
    effect: (tx: Tx) => Promise<{ asked: Answered; answer: AnswerOf<R> }>,
  ): Promise<AnswerOf<R>> => {
    const made: { asked?: Answered } = {}
    const answer = await createOnce(call, async (tx) => {
      const { asked, answer } = await effect(tx)
      made.asked = asked
      return { resourceId: asked.outcome === 'held' ? '' : asked.id, answer }
    })
    const { workspaceId, userId } = call.principal as Principal
    if (made.asked && made.asked.outcome !== 'held' && made.asked.isNew)
      await announceApprovals({ ...call.deps, bus }, { kind, workspaceId, userId, ids: [made.asked.id] })
    return answer
  }

  const decide = <R extends Route & { audience: 'session' }>(
    call: Call<R>,
    { kind, id, decision }: { kind: 'consent' | 'permission'; id: string; decision: Decision },
    toAnswer: (effect: Effect) => AnswerOf<R>,
  ) =>
    changeOnce(call, async (record) => {
      const keep = (tx: Tx, effect: Effect) => record(tx, toAnswer(effect), id)
      return toAnswer(
        (await approvals.decide(call.principal as Principal, id, decision, { only: kind, keep })).effect,
      )
    })

  const routes = bindRoutes(consentRoutes, {
    connectAgent: (call) => {
      const { principal, body, deps } = call
      return askOnce(call, 'consent', async (tx) => {
        const asked = await connect(tx, principal, body.requestedScopes)
        if (asked.outcome === 'held') {
          return { asked, answer: { status: 200, body: { status: 'active', scopes: asked.scopes } } }
        }
        const pending = {
          consent_id: asked.id,
          link_code: asked.linkCode ?? '',
          approval_url: approvalUrl(deps.config, asked.id),
          ...pollFacts('consent', asked.id),
        }
        return { asked, answer: { status: 202, body: { status: 'pending', ...pending } } }
      })
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
      // Looking a code up is what 410 is for; a decision that comes too late is a conflict.
      if (request.state === 'expired')
        throw new ApiError('EXPIRED', { message: 'This code has expired; the agent can ask again' })
      if (request.state !== 'pending') throw refuseDecision(request, principal)
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

    approveConsent: (call) => {
      const { params, body } = call
      const choice = { scopes: body.scopes, modes: body.modes, deviceAuth: body.device_auth }
      const decided = {
        kind: 'consent',
        id: params.consentId,
        decision: { status: 'granted', choice },
      } as const
      return decide(call, decided, ({ scopes = [] }) => ({ ...succeeded, scopes: [...scopes] }))
    },

    denyConsent: (call) => {
      const { params, body } = call
      const decided = { kind: 'consent', id: params.consentId, decision: refusal(body.reason) } as const
      return decide(call, decided, () => succeeded)
    },

    requestPermission: (call) => {
      const { principal, body, deps } = call
      const mode = (grantModes.includes(body.mode) ? body.mode : 'session') as GrantMode
      const { scope, reason, action } = body
      return askOnce(call, 'permission', async (tx) => {
        const asked = await requestPermission(tx, principal, { scope, mode, reason, action })
        if (asked.outcome === 'held') {
          return { asked, answer: { status: 200, body: { status: 'already_granted', grant_token: null } } }
        }
        const pending = {
          request_id: asked.id,
          approval_url: approvalUrl(deps.config, asked.id),
          ...pollFacts('permission', asked.id),
        }
        return { asked, answer: { status: 202, body: { status: 'pending', ...pending } } }
      })
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

    approvePermission: (call) => {
      const { params, body } = call
      const decision = {
        status: 'granted',
        choice: { mode: body.mode, deviceAuth: body.device_auth },
      } as const
      const decided = { kind: 'permission', id: params.requestId, decision } as const
      return decide(call, decided, ({ mode, until }) => ({
        ...succeeded,
        mode: mode ?? 'session',
        expires_at: until ?? null,
      }))
    },

    denyPermission: (call) => {
      const { params, body } = call
      const decided = { kind: 'permission', id: params.requestId, decision: refusal(body.reason) } as const
      return decide(call, decided, () => succeeded)
    },

    removeScope: async ({ principal, params, deps }) => {
      const keyId = parseRowId(params.keyId)
      if (keyId === undefined || (params.scope !== '*' && !describeScope(params.scope)))
        throw new ApiError('NOT_FOUND')
      const scopes = await removeScope(deps, principal, keyId, params.scope)
      await check.announceChange(keyId)
      return { ...succeeded, key_id: keyId, scopes }
    },
  })
  return {
    routes: [
      ...routes,
      ...oneKeyHandlers(check, listWork),
      ...touchedHandlers(touchReaders),
      ...selfHandlers(listRunning),
    ],
    sweeps: [{ table: 'grants', run: () => store.deleteOldGrants(database.db) }],
  }
}

function pollFacts(kind: 'consent' | 'permission', id: string) {
  return { poll_url: pollUrl(kind, id), poll_interval_seconds: approvalPollIntervalSeconds }
}
