import { oauthClientsPerUser, oauthRoutes, succeeded } from '@guildhall/contract'
import { recordActivity } from '#accounts/activity/activity.ts'
import { lockUser } from '#accounts/users/users.ts'
import { bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { createOnce } from '#operations/idempotency/idempotency.ts'
import { noteChange } from '#platform/changes.ts'
import type { Deps } from '#platform/deps.ts'
import { parseRowId } from '#platform/ids.ts'
import { hashSecret, mintSecret } from '#platform/secrets.ts'
import { endGrant } from './adapter.ts'
import type { OAuthCheck } from './check.ts'
import { newClientId } from './client-id.ts'
import { nameProblem } from './client-name.ts'
import * as clientStore from './client-store.ts'
import * as grantStore from './grant-store.ts'
import { redirectUriProblem } from './redirect-uri.ts'
import * as store from './store.ts'

export function oauthFeature({ database }: Deps, check: OAuthCheck): Feature {
  const routes = bindRoutes(oauthRoutes, {
    listOAuthGrants: async ({ principal, deps }) => {
      const rows = await grantStore.listGrants(deps.database.db, principal.userId)
      return rows.map((row) => ({
        id: row.id,
        client_id: row.client_id,
        name: row.name,
        scopes: row.scope.split(' ').filter(Boolean),
        workspace: { id: row.workspace_id, name: row.workspace_name },
        created_at: row.created_at,
        last_used_at: row.last_used_at,
        expires_at: row.expires_at,
      }))
    },

    endOAuthGrant: async ({ principal, params, deps }) => {
      const id = parseRowId(params.id)
      const grantId = id && (await grantStore.findGrantId(deps.database.db, principal.userId, id))
      if (!grantId || !(await endGrant(deps, check, grantId, principal))) throw new ApiError('NOT_FOUND')
      return succeeded
    },

    listOAuthClients: async ({ principal, deps }) => {
      const rows = await clientStore.listClients(deps.database.db, principal.userId)
      return rows.map(describeClient)
    },

    createOAuthClient: (call) =>
      createOnce(call, async (tx) => {
        const { principal, body } = call
        const { userId, workspaceId } = principal
        const redirectUris = checkRedirectUris(body.redirect_uris)
        const problem = nameProblem(body.name)
        if (problem !== undefined) throw new ApiError('INVALID_INPUT', { message: `name: ${problem}` })
        await lockUser(tx, userId)
        if ((await clientStore.countClients(tx, userId)) >= oauthClientsPerUser) {
          throw new ApiError('CONFLICT', {
            message: `A person can register at most ${oauthClientsPerUser} apps; remove one first`,
            details: { limit: oauthClientsPerUser },
          })
        }
        const secret = body.public ? null : mintSecret('oauthSecret')
        const row = await clientStore.insertClient(tx, {
          id: newClientId('app'),
          user_id: userId,
          name: body.name.trim(),
          redirect_uris: redirectUris,
          secret_hash: secret === null ? null : hashSecret(secret),
        })
        await recordActivity(tx, principal, {
          type: 'oauth_client.created',
          workspaceId,
          details: { clientId: row.id, name: row.name, redirectUris, public: row.public },
        })
        return { resourceId: row.id, answer: { ...describeClient(row), client_secret: secret } }
      }),

    deleteOAuthClient: async ({ principal, params, deps }) => {
      const grants = await deps.database.transaction(async (tx) => {
        const ended = await clientStore.listGrantsOf(tx, params.id)
        const gone = await clientStore.deleteClient(tx, principal.userId, params.id)
        if (!gone) throw new ApiError('NOT_FOUND')
        await recordActivity(tx, principal, {
          type: 'oauth_client.deleted',
          workspaceId: principal.workspaceId,
          details: { clientId: gone.id, name: gone.name },
        })
        for (const { user_id: userId } of ended)
          if (userId) noteChange(tx, { kinds: ['oauthGrants'], userId })
        return ended.map(({ id }) => `oauth:${id}`)
      })
      // What is open with one of these ends with it.
      await Promise.all([params.id, ...grants].map((ended) => check.announceEnd(ended)))
      return succeeded
    },
  })
  return {
    routes,
    sweeps: [
      { table: 'oauth_records', run: () => store.deleteEndedRecords(database.db) },
      { table: 'oauth_clients', run: () => clientStore.deleteForgotten(database.db) },
    ],
  }
}

function checkRedirectUris(uris: readonly string[]): string[] {
  for (const [index, uri] of uris.entries()) {
    const problem = redirectUriProblem(uri)
    if (problem) {
      throw new ApiError('INVALID_INPUT', {
        message: `redirect_uris.${index}: ${problem}`,
        details: { redirect_uri: uri },
      })
    }
  }
  return [...new Set(uris)]
}

function describeClient(row: clientStore.ClientRow) {
  const { id: client_id, name, redirect_uris, created_at } = row
  return { client_id, name, redirect_uris, public: row.public, created_at }
}
