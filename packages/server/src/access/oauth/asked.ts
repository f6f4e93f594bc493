import type Provider from 'oidc-provider'
import { ApiError } from '#operations/errors.ts'
import type { Db } from '#platform/database.ts'
import * as clientStore from './client-store.ts'
import { documentOf } from './documents.ts'
import type { AppFacts } from './pages.ts'

export type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>

/** What an app asks for with it. */
export function requestOf({ params }: Interaction) {
  return {
    clientId: String(params['client_id']),
    redirectUri: String(params['redirect_uri']),
    scopes: String(params['scope']).split(' '),
    /** What the tokens are to be for; one that was not named was put there by the library. */
    resources: [params['resource'] ?? []].flat().map(String),
  }
}

export async function findApp(db: Db, interaction: Interaction): Promise<AppFacts> {
  const { clientId } = requestOf(interaction)
  const document = documentOf(interaction)
  if (document) return { name: document.name, address: clientId }
  const client = await clientStore.findClient(db, clientId)
  if (!client) throw appRemoved()
  if (client.kind === 'registered') return { name: client.name, registrant: undefined }
  return { name: client.name, registrant: client.owner_email ?? 'a person without a verified address' }
}

export const appRemoved = () => new ApiError('NOT_FOUND', { message: 'This app was removed.' })

export const over = () =>
  new ApiError('NOT_FOUND', {
    message: 'This request has expired, was decided already or was opened in another browser.',
  })
