import {
  activationLifetimeSeconds,
  activationPollIntervalSeconds,
  activationRoutes,
  succeeded,
} from '@guildhall/contract'
import { bindRoutes } from '#operations/bind.ts'
import type { Feature } from '#operations/feature.ts'
import { changeOnce, type Keep } from '#operations/idempotency/idempotency.ts'
import { countRequest, refuseIfFull } from '#operations/limits.ts'
import type { Bus } from '#platform/bus.ts'
import type { Deps } from '#platform/deps.ts'
import { networkOf } from '#platform/network.ts'
import { hashSecret } from '#platform/secrets.ts'
import { lookUpActivation, pollActivation, startActivation } from './activation.ts'
import { announcePairing } from './announce.ts'
import { approveActivation, denyActivation, type GrantAtPairing, type KeepDecision } from './decide.ts'
import { describeScopes } from './describe.ts'
import { approvalIdOf } from './lifecycle.ts'
import * as store from './store.ts'

interface ActivationParts {
  readonly bus: Bus
  /** Of the feature that keeps grants. */
  readonly grant: GrantAtPairing
}

export function activationFeature({ config, database }: Deps, { bus, grant }: ActivationParts): Feature {
  const routes = bindRoutes(activationRoutes, {
    createActivation: async ({ client, body, deps }) => {
      const { deviceCode, userCode, match } = await startActivation(
        deps,
        client,
        body.requested_scopes ?? [],
        body.number_match ?? false,
      )
      const { appUrl, appDownloadUrl } = deps.config
      return {
        device_code: deviceCode,
        user_code: userCode,
        verification_url: `${appUrl}/pair`,
        verification_url_complete: `${appUrl}/pair?code=${userCode}`,
        app_download_url: appDownloadUrl,
        expires_in: activationLifetimeSeconds,
        interval: activationPollIntervalSeconds,
        ...(match !== undefined && { match }),
      }
    },

    pollActivation: async ({ body, client, deps, signal }) => {
      // Counted by the code's hash: the code itself is a secret and Redis is no place for it.
      const code = hashSecret(body.device_code).toString('base64url')
      const limits = ['activationPoll'] as const
      const states = await countRequest(deps, limits, {
        caller: code,
        userId: undefined,
        address: client.address,
      })
      refuseIfFull(deps, limits, states)
      return pollActivation(deps, bus, body.device_code, { wait: body.wait, signal })
    },

    confirmActivation: (call) =>
      changeOnce(call, async (record) => {
        const { principal, body, deps } = call
        await approveActivation(deps, bus, principal, body.code, {
          access: body.access,
          scopes: body.scopes,
          modes: body.modes,
          match: body.match,
          deviceAuth: body.device_auth,
          keep: keepIn(record),
          grant,
        })
        return succeeded
      }),

    lookupActivation: async ({ principal, query, client, deps }) => {
      const found = await lookUpActivation(deps, principal.userId, query.code)
      if (found.isNew) announcePairing(bus, principal, found.id)
      return {
        approval_id: approvalIdOf(found.id),
        user_code: found.user_code,
        client_label: found.client_label,
        client_ua: found.client_ua,
        client_ip: found.client_ip,
        status: found.state,
        expires_at: found.expires_at,
        same_network: found.client_network === networkOf(client.address),
        requested_scopes: describeScopes(found.requested_scopes, []),
        ...(found.match_choices !== null && { match_choices: found.match_choices }),
      }
    },

    denyActivation: (call) =>
      changeOnce(call, async (record) => {
        const { principal, body, deps } = call
        await denyActivation(deps, bus, principal, body.code, keepIn(record))
        return succeeded
      }),
  })
  const missSeconds = config.limits.codeMisses.windowSeconds
  return {
    routes,
    sweeps: [{ table: 'activations', run: () => store.deleteOldActivations(database.db, missSeconds) }],
  }
}

const keepIn =
  (record: Keep<typeof succeeded>): KeepDecision =>
  (tx, activationId) =>
    record(tx, succeeded, approvalIdOf(activationId))
