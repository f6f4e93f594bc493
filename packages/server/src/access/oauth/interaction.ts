import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type Provider from 'oidc-provider'
import { errors } from 'oidc-provider'
import { claimSignIn } from '#accounts/sessions/sessions.ts'
import { findUser, type User } from '#accounts/users/users.ts'
import { findWorkspace, listWorkspaces } from '#accounts/workspaces/workspaces.ts'
import { ApiError } from '#operations/errors.ts'
import { isOrphan } from '#platform/database-errors.ts'
import type { Deps } from '#platform/deps.ts'
import { hmac, isWellFormedSecret } from '#platform/secrets.ts'
import type { RawAnswer, RawCall, RawRoute } from '#transports/http/raw-route.ts'
import { appRemoved, findApp, type Interaction, over, requestOf } from './asked.ts'
import { hasMark, setMark } from './browser-mark.ts'
import { allow, deny } from './decision.ts'
import { formToken, isOwnForm } from './form-token.ts'
import { consentPage, errorPage, signInPage } from './pages.ts'
import { oauthPaths } from './provider.ts'
import { isForMcpAlone } from './resources.ts'

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
  const form = call.body instanceof URLSearchParams ? call.body : new URLSearchParams()
  const interaction = await findInteraction(provider, call)
  const person = await findPerson(deps, call, interaction)
  if (!person || !isOwnForm(deps.config, call, form, { uid: interaction.uid, userId: person.id })) {
    throw new ApiError('FORBIDDEN', { message: 'This decision did not come from the page that asks for it.' })
  }
  const workspace = await findWorkspace(deps.database, form.get('workspace') ?? '', person.id)
  const decision = { interaction, userId: person.id, workspaceId: workspace?.id ?? null }
  await deps.database
    .transaction((tx) => (form.get('decision') === 'allow' ? allow : deny)(tx, decision))
    .catch((error: unknown) => {
      throw isOrphan(error) ? appRemoved() : error
    })
  call.response.writeHead(303, { location: interaction.returnTo }).end()
}

async function findInteraction(provider: Provider, call: RawCall): Promise<Interaction> {
  const { request, response, params } = call
  const interaction = await provider.interactionDetails(request, response).catch((error: unknown) => {
    if (error instanceof errors.SessionNotFound) return undefined
    throw error
  })
  if (!interaction || interaction.uid !== params['uid'] || interaction.result) throw over()
  return interaction
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
  const app = await findApp(deps.database.db, interaction)
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
    app: await findApp(deps.database.db, interaction),
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
