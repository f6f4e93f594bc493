import {
  activationLifetimeSeconds,
  activationPollIntervalSeconds,
  activationRoutes,
  succeeded,
} from '@guildhall/contract'
import { bindRoutes } from '../operations/bind.ts'
import { countRequest, refuseIfFull } from '../operations/limits.ts'
import { networkOf } from '../platform/network.ts'
import { hashSecret } from '../platform/secrets.ts'
import {
  approveActivation,
  denyActivation,
  lookUpActivation,
  pollActivation,
  startActivation,
} from './activation.ts'

export function activationHandlers() {
  return bindRoutes(activationRoutes, {
    createActivation: async ({ client, deps }) => {
      const { deviceCode, userCode } = await startActivation(deps, client)
      const { appUrl, appDownloadUrl } = deps.config
      return {
        device_code: deviceCode,
        user_code: userCode,
        verification_url: `${appUrl}/pair`,
        verification_url_complete: `${appUrl}/pair?code=${userCode}`,
        app_download_url: appDownloadUrl,
        expires_in: activationLifetimeSeconds,
        interval: activationPollIntervalSeconds,
      }
    },

    pollActivation: async ({ body, client, deps }) => {
      // Counted by the code's hash: the code itself is a secret and Redis is no place for it.
      const code = hashSecret(body.device_code).toString('base64url')
      const limits = ['activationPoll'] as const
      const states = await countRequest(deps, limits, {
        caller: code,
        userId: undefined,
        address: client.address,
      })
      refuseIfFull(deps, limits, states)
      return pollActivation(deps, body.device_code)
    },

    confirmActivation: async ({ principal, body, deps }) => {
      await approveActivation(deps, principal, body.code, body.access ?? 'full', body.device_auth)
      return succeeded
    },

    lookupActivation: async ({ principal, query, client, deps }) => {
      const found = await lookUpActivation(deps, principal.userId, query.code)
      return {
        user_code: found.user_code,
        client_label: found.client_label,
        client_ua: found.client_ua,
        client_ip: found.client_ip,
        status: found.state,
        expires_at: found.expires_at,
        same_network: found.client_network === networkOf(client.address),
      }
    },

    denyActivation: async ({ principal, body, deps }) => {
      await denyActivation(deps, principal, body.code)
      return succeeded
    },
  })
}
