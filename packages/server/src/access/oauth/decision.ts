import { randomUUID } from 'node:crypto'
import type { InteractionResults } from 'oidc-provider'
import { recordActivity } from '#accounts/activity/activity.ts'
import { holdMembership } from '#accounts/workspaces/workspaces.ts'
import { inPerson } from '#operations/actor.ts'
import { ApiError } from '#operations/errors.ts'
import { noteChange } from '#platform/changes.ts'
import type { Tx } from '#platform/database.ts'
import { hashSecret } from '#platform/secrets.ts'
import { findApp, type Interaction, over, requestOf } from './asked.ts'
import * as clientStore from './client-store.ts'
import { documentOf } from './documents.ts'
import * as grantStore from './grant-store.ts'
import { interactionSeconds } from './provider.ts'
import * as store from './store.ts'

interface Decision {
  readonly interaction: Interaction
  readonly userId: string
  readonly workspaceId: string | null
}

export async function deny(tx: Tx, { interaction, userId, workspaceId }: Decision): Promise<void> {
  await claim(tx, interaction, { error: 'access_denied', error_description: 'The person said no' })
  const { clientId, scopes } = requestOf(interaction)
  const details = { clientId, scopes }
  await recordActivity(tx, inPerson(userId), { type: 'oauth_grant.denied', workspaceId, details })
}

export async function allow(tx: Tx, { interaction, userId, workspaceId }: Decision): Promise<void> {
  if (!workspaceId) throw new ApiError('FORBIDDEN', { message: 'You are not a member of that workspace.' })
  const grantId = randomUUID()
  await claim(tx, interaction, { login: { accountId: userId, remember: false }, consent: { grantId } })
  await holdMembership(tx, workspaceId, userId)
  const { clientId, scopes, resources } = requestOf(interaction)
  await keepDocument(tx, interaction)
  const scope = scopes.join(' ')
  const shownAs = documentOf(interaction)?.name
  const payload = {
    openid: { scope },
    resources: Object.fromEntries(resources.map((resource) => [resource, scope])),
    ...(shownAs !== undefined && { shownAs }),
  }
  await grantStore.insertGrant(tx, { grantId, clientId, userId, workspaceId, payload }, interactionSeconds)
  noteChange(tx, { kinds: ['oauthGrants'], userId })
  const details = { clientId, scopes }
  await recordActivity(tx, inPerson(userId), { type: 'oauth_grant.allowed', workspaceId, details })
}

/** Before a decision has any effect: of two, in whichever tabs and processes, only the first has one. */
async function claim(tx: Tx, interaction: Interaction, result: InteractionResults): Promise<void> {
  if (await store.claimInteraction(tx, hashSecret(interaction.uid), result)) return
  // An app takes its interactions with it, and says so.
  await findApp(tx, interaction)
  throw over()
}

/** What is issued to the app refers to it, as the person was shown it. */
async function keepDocument(tx: Tx, interaction: Interaction): Promise<void> {
  const document = documentOf(interaction)
  if (!document) return
  const { name, redirectUris } = document
  const { clientId: id } = requestOf(interaction)
  await clientStore.upsertDocument(tx, { id, name, redirect_uris: [...redirectUris] })
}
