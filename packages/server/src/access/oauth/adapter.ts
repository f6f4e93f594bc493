import Provider, { type Adapter, type AdapterPayload, errors, type InteractionResults } from 'oidc-provider'
import { recordActivity } from '#accounts/activity/activity.ts'
import type { Actor } from '#operations/actor.ts'
import { noteChange } from '#platform/changes.ts'
import { isOrphan } from '#platform/database-errors.ts'
import type { Deps } from '#platform/deps.ts'
import { hashSecret } from '#platform/secrets.ts'
import type { OAuthCheck } from './check.ts'
import * as clientStore from './client-store.ts'
import { type DocumentFacts, documentOf, isDocumentId } from './documents.ts'
import * as grantStore from './grant-store.ts'
import * as store from './store.ts'

/** A used code is remembered this long, so that its second use ends the grant and not just itself. */
const usedKeptSeconds = 24 * 3600
const tokenModels = new Set(['AccessToken', 'RefreshToken'])

/**
 * Storage for the authorization server. Ids are hashed and taken out of what is stored, and whether something has
 * ended is decided by the database's clock: the times the library reads are made to agree with that.
 */
export function createAdapter(deps: Deps, check: OAuthCheck, model: string): Adapter {
  if (model === 'Client') return clientAdapter(deps)
  if (model === 'Session') return nothing
  const { database } = deps
  return {
    ...nothing,

    upsert: async (id, { jti: _id, ...payload }, lifetimeSeconds) => {
      if (lifetimeSeconds === undefined) throw new Error(`A ${model} without an end`)
      const grantId = model === 'Grant' ? id : payload.grantId
      const client = payload.clientId ?? payload.params?.['client_id']
      // Until somebody has decided about it there is no row of an app that describes itself.
      const hasRow = typeof client === 'string' && !(model === store.interactionModel && isDocumentId(client))
      const record = {
        model,
        id_hash: hashSecret(id),
        payload: JSON.stringify(payload),
        grant_id: grantId ?? null,
        client_id: hasRow ? client : null,
        user_id: payload.accountId ?? signedIn(payload) ?? null,
      }
      await store.insertRecord(database.db, record, lifetimeSeconds).catch((error: unknown) => {
        // It was removed while this was under way.
        throw isOrphan(error) ? new errors.InvalidClient('app or account removed') : error
      })
      if (grantId && tokenModels.has(model)) {
        await grantStore.updateGrantExpiry(database.db, grantId, lifetimeSeconds)
      }
    },

    find: async (id) => {
      const row = await store.findRecord(database.db, model, hashSecret(id))
      if (!row) return undefined
      return {
        ...(row.payload as AdapterPayload),
        jti: id,
        exp: Math.floor(Date.now() / 1000) + row.remaining_seconds,
        ...(row.consumed ? { consumed: true } : {}),
      }
    },

    consume: async (id) => {
      const idHash = hashSecret(id)
      if (await store.claimRecord(database.db, model, idHash, usedKeptSeconds)) return
      // Second at the same moment is as much a replay as second a minute later.
      const used = await store.findRecord(database.db, model, idHash)
      if (used?.grant_id) await endGrant(deps, check, used.grant_id)
      throw new errors.InvalidGrant('used before')
    },

    destroy: async (id) => {
      if (model === 'Grant') {
        await endGrant(deps, check, id)
        return
      }
      const deleted = await store.deleteRecord(database.db, model, hashSecret(id))
      // An interaction goes when its decision is carried out, which of two at once only one may do.
      if (!deleted && model === store.interactionModel)
        throw new errors.SessionNotFound('carried out already')
    },

    revokeByGrantId: async (grantId) => {
      await endGrant(deps, check, grantId)
    },
  }
}

/** Whose an interaction is since they signed in for it. */
function signedIn({ lastSubmission }: AdapterPayload): string | undefined {
  return (lastSubmission as InteractionResults | undefined)?.login?.accountId
}

/** Ends a grant with all that was issued under it; false when it had ended before. */
export async function endGrant(
  deps: Deps,
  check: OAuthCheck,
  grantId: string,
  person?: Actor,
): Promise<boolean> {
  const ended = await deps.database.transaction(async (tx) => {
    const grant = await grantStore.claimGrantEnd(tx, grantId)
    if (!grant?.user_id) return undefined
    const asked = Provider.ctx?.oidc.route === 'revocation'
    const byApp = asked ? 'the app asked' : 'a code or token was used twice'
    if (!person) noteChange(tx, { kinds: ['oauthGrants'], userId: grant.user_id })
    const because = person ? 'the person asked' : byApp
    await recordActivity(tx, person ?? { userId: grant.user_id, apiKeyId: null, oauthGrantId: grant.id }, {
      type: 'oauth_grant.revoked',
      workspaceId: grant.workspace_id,
      details: { clientId: grant.client_id, because },
    })
    return grant
  })
  if (ended) await check.announceEnd(`oauth:${ended.id}`)
  return ended !== undefined
}

/** The hash stands where the library keeps a secret; the comparison is replaced to match. */
function clientAdapter({ database }: Deps): Adapter {
  return {
    ...nothing,
    find: async (id) => {
      // Who is about to be asked is shown what the document says now; what follows rests on what they were shown.
      if (isDocumentId(id) && Provider.ctx?.oidc.route === 'authorization') return undefined
      const shown = isDocumentId(id) ? documentShown() : undefined
      if (shown) return describeClient({ id, name: shown.name, redirect_uris: shown.redirectUris })
      const row = await clientStore.findClient(database.db, id)
      if (!row) return undefined
      return {
        ...describeClient(row),
        ...(row.secret_hash
          ? {
              token_endpoint_auth_method: 'client_secret_post',
              client_secret: row.secret_hash.toString('hex'),
            }
          : {}),
      }
    },
  }
}

/** As the person saw it who has just decided: who only says no leaves no row behind. */
function documentShown(): DocumentFacts | undefined {
  const { route, entities } = Provider.ctx?.oidc ?? {}
  return route === 'resume' ? documentOf(entities?.Interaction) : undefined
}

function describeClient(client: {
  readonly id: string
  readonly name: string
  readonly redirect_uris: readonly string[]
}): AdapterPayload {
  return {
    client_id: client.id,
    client_name: client.name,
    redirect_uris: [...client.redirect_uris],
    token_endpoint_auth_method: 'none',
    // Of the library's two types the one that may have schemes of its own.
    application_type: 'native',
    response_types: ['code'],
    response_modes: ['query', 'fragment'],
    grant_types: ['authorization_code', 'refresh_token'],
  }
}

/** Nobody stays signed in at the authorization server: whoever is asked says who they are. */
const nothing: Adapter = {
  upsert: async () => undefined,
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
}
