import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type Provider from 'oidc-provider'
import { errors } from 'oidc-provider'
import { recordActivity } from '#accounts/activity/activity.ts'
import { claimSignIn } from '#accounts/sessions/sessions.ts'
import { findUser, type User } from '#accounts/users/users.ts'
import { findWorkspace, holdMembership, listWorkspaces } from '#accounts/workspaces/workspaces.ts'
import { inPerson } from '#operations/actor.ts'
import { ApiError } from '#operations/errors.ts'
import { noteChange } from '#platform/changes.ts'
import type { Deps } from '#platform/deps.ts'
import { hmac, isWellFormedSecret } from '#platform/secrets.ts'
import type { RawAnswer, RawCall, RawRoute } from '#transports/http/raw-route.ts'
import { hasMark, setMark } from './browser-mark.ts'
import * as clientStore from './client-store.ts'
import { documentOf } from './documents.ts'
import { formToken, isOwnForm } from './form-token.ts'
import * as grantStore from './grant-store.ts'
import { type AppFacts, consentPage, errorPage, signInPage } from './pages.ts'
import { oauthPaths } from './provider.ts'
import { isForMcpAlone } from './resources.ts'

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>

/**
 * Where a person says who they are and decides about an app. All of it belongs to the browser that began: the
 * interaction's cookie is signed and good below its own address only, the sign-in is bound to the interaction by its
 * challenge and to its browser by a mark, and the decision to all of it by the token in the form.
 */
export function interactionRoutes(deps: Deps, provider: Provider): RawRoute[] {
  const path = `${oauthPaths.interaction}/:uid`
  const describeRefusal = (refusal: ApiError) => errorPage(refusal.message)
  return [
    { name: 'oauthAsk', method: 'GET', path, describeRefusal, handle: (call) => ask(deps, provider, call) },
    {
      name: 'oauthDecide',
      method: 'POST',
      path,
      describeRefusal,
      handle: (call) => decide(deps, provider, call),
    },
  ]
}

async function ask(deps: Deps, provider: Provider, call: RawCall): Promise<void> {
  const interaction = await findInteraction(provider, call)
  const code = call.query.get('code')
  if (code !== null) return finishSignIn(deps, call, interaction, code)
  const person = await findPerson(deps, call, interaction)
  const failed = call.query.has('error') || call.query.has('failed')
  send(call.response, 200, await (person && !failed ? consent : signIn)(deps, interaction, person, failed))
}

/** The code leaves the address bar at once, and what it said is kept with the interaction. */
async function finishSignIn(
  deps: Deps,
  call: RawCall,
  interaction: Interaction,
  code: string,
): Promise<void> {
  const own = isWellFormedSecret('signIn', code)
  const user =
    own && (await deps.database.transaction((tx) => claimSignIn(tx, code, verifierOf(deps, interaction.uid))))
  if (user) {
    interaction.lastSubmission = { login: { accountId: user.id } }
    await interaction.persist()
    setMark(deps.config, call.response, interaction.uid, user.id)
  }
  call.response.writeHead(303, { location: `${addressOf(deps, interaction)}${user ? '' : '?failed'}` }).end()
}

async function decide(deps: Deps, provider: Provider, call: RawCall): Promise<void> {
  const { request, response } = call
  const form = call.body instanceof URLSearchParams ? call.body : new URLSearchParams()
  const interaction = await findInteraction(provider, call)
  const person = await findPerson(deps, call, interaction)
  if (!person || !isOwnForm(deps.config, call, form, { uid: interaction.uid, userId: person.id })) {
    throw new ApiError('FORBIDDEN', { message: 'This decision did not come from the page that asks for it.' })
  }
  const workspace = await findWorkspace(deps.database, form.get('workspace') ?? '', person.id)
  const actor = inPerson(person.id)
  const { clientId, scopes, resources } = requestOf(interaction)
  const details = { clientId, scopes }
  if (form.get('decision') !== 'allow') {
    const workspaceId = workspace?.id ?? null
    await recordActivity(deps.database.db, actor, { type: 'oauth_grant.denied', workspaceId, details })
    const refusal = { error: 'access_denied', error_description: 'The person said no' }
    return provider.interactionFinished(request, response, refusal, { mergeWithLastSubmission: false })
  }
  if (!workspace) throw new ApiError('FORBIDDEN', { message: 'You are not a member of that workspace.' })
  await keepDocument(deps, interaction)
  const grant = new provider.Grant({ accountId: person.id, clientId })
  grant.addOIDCScope(scopes.join(' '))
  for (const resource of resources) grant.addResourceScope(resource, scopes.join(' '))
  const grantId = await grant.save().catch((error: unknown) => {
    throw error instanceof errors.InvalidClient ? appRemoved() : error
  })
  // Without a workspace a grant is good for nothing, so nothing is lost between the two.
  await deps.database.transaction(async (tx) => {
    await holdMembership(tx, workspace.id, person.id)
    await grantStore.updateGrantWorkspace(tx, grantId, workspace.id, documentOf(interaction)?.name)
    noteChange(tx, { kinds: ['oauthGrants'], userId: person.id })
    await recordActivity(tx, actor, { type: 'oauth_grant.allowed', workspaceId: workspace.id, details })
  })
  const decision = { login: { accountId: person.id, remember: false }, consent: { grantId } }
  await provider.interactionFinished(request, response, decision, { mergeWithLastSubmission: false })
}

async function findInteraction(provider: Provider, call: RawCall): Promise<Interaction> {
  const { request, response, params } = call
  const interaction = await provider.interactionDetails(request, response).catch((error: unknown) => {
    if (error instanceof errors.SessionNotFound) return undefined
    throw error
  })
  if (interaction && interaction.uid === params['uid']) return interaction
  throw new ApiError('NOT_FOUND', {
    message: 'This request has expired, was decided already or was opened in another browser.',
  })
}

/** Who signed in, in the browser in which they did. */
async function findPerson(
  { config, database }: Deps,
  { request }: RawCall,
  { uid, lastSubmission }: Interaction,
): Promise<User | undefined> {
  const userId = lastSubmission?.login?.accountId
  if (userId === undefined || !hasMark(config, request, uid, userId)) return undefined
  return findUser(database.db, userId)
}

async function signIn(deps: Deps, interaction: Interaction, _person: unknown, failed: boolean) {
  const app = await findApp(deps, interaction)
  const ways = deps.config.authProviders.map(({ id, name }) => ({
    name: `Continue with ${name}`,
    href: signInAddress(deps, interaction, id),
  }))
  const problem = failed ? { problem: 'The sign-in did not work or was canceled. Try again.' } : {}
  return signInPage({ app, ways, ...problem })
}

async function consent(deps: Deps, interaction: Interaction, person: User | undefined) {
  if (!person) throw new ApiError('UNAUTHORIZED')
  const { redirectUri, scopes, resources } = requestOf(interaction)
  const { publicUrl } = deps.config
  const memberships = await listWorkspaces(deps.database.db, person.id)
  return consentPage({
    app: await findApp(deps, interaction),
    action: addressOf(deps, interaction),
    csrf: formToken(deps.config, { uid: interaction.uid, userId: person.id }),
    person: person.email ?? person.name ?? 'a person without an address',
    otherPersonHref: signInAddress(deps, interaction, undefined),
    redirectUri,
    scopes,
    strict: deps.config.oauthStrict,
    ...(isForMcpAlone(publicUrl, resources) && { onlyAt: `${publicUrl}/mcp/` }),
    workspaces: memberships.map(({ id, name }) => ({ id, name: name ?? 'Personal workspace' })),
  })
}

async function findApp({ database }: Deps, interaction: Interaction): Promise<AppFacts> {
  const { clientId } = requestOf(interaction)
  const document = documentOf(interaction)
  if (document) return { name: document.name, address: clientId }
  const client = await clientStore.findClient(database.db, clientId)
  if (!client) throw appRemoved()
  if (client.kind === 'registered') return { name: client.name, registrant: undefined }
  return { name: client.name, registrant: client.owner_email ?? 'a person without a verified address' }
}

const appRemoved = () => new ApiError('NOT_FOUND', { message: 'This app was removed.' })

/** What is issued to the app refers to it, as the person was shown it. */
async function keepDocument({ database }: Deps, interaction: Interaction): Promise<void> {
  const document = documentOf(interaction)
  if (!document) return
  const { name, redirectUris } = document
  const { clientId: id } = requestOf(interaction)
  await clientStore.upsertDocument(database.db, { id, name, redirect_uris: [...redirectUris] })
}

function requestOf({ params }: Interaction) {
  return {
    clientId: String(params['client_id']),
    redirectUri: String(params['redirect_uri']),
    scopes: String(params['scope']).split(' '),
    /** What the tokens are to be for; one that was not named was put there by the library. */
    resources: [params['resource'] ?? []].flat().map(String),
  }
}

function addressOf({ config }: Deps, { uid }: Interaction): string {
  return `${config.publicUrl}${oauthPaths.interaction}/${uid}`
}

function signInAddress(deps: Deps, interaction: Interaction, provider: string | undefined): string {
  const query = new URLSearchParams({
    ...(provider === undefined ? {} : { provider }),
    redirect: addressOf(deps, interaction),
    challenge: createHash('sha256').update(verifierOf(deps, interaction.uid)).digest('base64url'),
  })
  return `${deps.config.publicUrl}/api/v1/auth/start?${query}`
}

/** Known to no browser: a code of a sign-in that did not begin on this interaction's page does not match it. */
function verifierOf({ config }: Deps, uid: string): string {
  const ring = config.signingKeys
  return hmac(ring, ring.current, `oauth.sign-in.${uid}`).toString('base64url')
}

function send(response: ServerResponse, status: number, { type, body, headers = {} }: RawAnswer): void {
  response.writeHead(status, { ...headers, 'content-type': type }).end(body)
}
