import { type ModelProvider, modelRoutes, succeeded } from '@guildhall/contract'
import { recordActivity } from '#accounts/activity/activity.ts'
import { bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { type ModelConfig, trimBaseUrl } from '#platform/model-settings.ts'
import { saveProviderKey } from './provider-keys.ts'
import * as store from './store.ts'

export function modelFeature(): Feature {
  const routes = bindRoutes(modelRoutes, {
    listProviderKeys: async ({ principal, deps }) => {
      const rows = await store.listKeys(deps.database.db, principal.userId)
      return rows.map(describeKey)
    },

    storeProviderKey: async ({ principal, params, body, deps }) => {
      const { provider } = params
      const { models, encryptionKeys } = deps.config
      if (principal.mode !== 'byokmode') {
        throw new ApiError('FORBIDDEN', {
          message: 'Keys of model providers are for accounts in byokmode; change the mode first',
          details: { mode: principal.mode },
        })
      }
      const baseUrl = baseUrlFor(models, provider, body.baseUrl)
      return deps.database.transaction(async (tx) => {
        const key = { provider, baseUrl, apiKey: body.apiKey }
        const row = await saveProviderKey(tx, encryptionKeys, principal.userId, key)
        await recordActivity(tx, principal, {
          type: 'provider_key.stored',
          workspaceId: principal.workspaceId,
          details: { provider, baseUrl },
        })
        return describeKey(row)
      })
    },

    removeProviderKey: ({ principal, params, deps }) =>
      deps.database.transaction(async (tx) => {
        const { provider } = params
        if (!(await store.deleteKey(tx, principal.userId, provider))) throw new ApiError('NOT_FOUND')
        await recordActivity(tx, principal, {
          type: 'provider_key.removed',
          workspaceId: principal.workspaceId,
          details: { provider },
        })
        return succeeded
      }),
  })
  return { routes }
}

/**
 * The server calls this address, so only those that the operator chose are taken. And since a key is a secret, it
 * goes to another machine encrypted or not at all.
 */
function baseUrlFor(
  models: readonly ModelConfig[],
  provider: ModelProvider,
  wanted: string | undefined,
): string {
  const ofProvider = models.filter((model) => model.provider === provider).map(({ baseUrl }) => baseUrl)
  const allowed = [...new Set(ofProvider)].filter(isPrivateOnTheWay)
  const [only, ...others] = allowed
  if (wanted === undefined && only !== undefined && others.length === 0) return only
  const found = wanted === undefined ? undefined : allowed.find((url) => url === trimBaseUrl(wanted))
  if (found !== undefined) return found
  const message =
    allowed.length > 0
      ? `baseUrl: choose one of ${allowed.join(', ')}`
      : `provider: no model of ${provider} takes keys here`
  throw new ApiError('INVALID_INPUT', { message, details: { baseUrls: allowed } })
}

function isPrivateOnTheWay(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}

function describeKey({ provider, base_url, hint, created_at }: store.StoredKeyRow) {
  return { provider, baseUrl: base_url, hint, createdAt: created_at }
}
