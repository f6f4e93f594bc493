// A development identity provider, run as a process of its own. It believes whoever signs in.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import Provider, { type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider'
import { errorPage, type Interaction, interactionPage } from './identity-pages.ts'

const bodyLimitBytes = 10_000
const port = Number(setting('PORT'))
const issuer = `http://127.0.0.1:${port}`

const configuration: Configuration = {
  clients: [
    {
      client_id: setting('CLIENT_ID'),
      client_secret: setting('CLIENT_SECRET'),
      redirect_uris: [setting('REDIRECT_URI')],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
  ],
  jwks: { keys: [JSON.parse(setting('SIGNING_KEY'))] },
  cookies: { keys: [setting('COOKIE_KEY')] },
  pkce: { required: () => true },
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
  // Many clients read the ID token alone and never ask the userinfo endpoint.
  conformIdTokenClaims: false,
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  loadExistingGrant: grantAll,
  findAccount: (_, accountId) => ({ accountId, claims: () => claimsOf(accountId) }),
  ttl: {
    AccessToken: 3600,
    AuthorizationCode: 60,
    Grant: 86_400,
    IdToken: 3600,
    Interaction: 3600,
    Session: 86_400,
  },
  renderError: (ctx, { error, error_description: description }) => {
    ctx.type = 'html'
    ctx.body = errorPage(description ? `${error}: ${description}` : error)
  },
}

const provider = new Provider(issuer, configuration)
const answerProtocol = provider.callback()
const server = createServer((request, response) => {
  answer(request, response).catch((error: Error) => {
    console.error(error)
    if (response.headersSent) response.destroy()
    else sendPage(response, 400, errorPage(problemOf(error)))
  })
})
server.listen(port, '127.0.0.1')
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, uid, action] = /^\/interaction\/([\w-]+)(\/cancel)?(?:\?|$)/.exec(request.url ?? '') ?? []
  if (request.url === '/healthz') {
    // The instance tells a stack that it reached its own provider and not another one's on the same port.
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ status: 'ok', instance: setting('INSTANCE') }))
  } else if (uid === undefined) {
    // A developer signs in as many people in one browser, so no session answers for the next one.
    if (/^\/auth(?:\?|$)/.test(request.url ?? '')) delete request.headers.cookie
    await answerProtocol(request, response)
  } else if (action) {
    const result = { error: 'access_denied', error_description: 'the person canceled the sign-in' }
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
  } else if (request.method === 'POST') {
    await submit(request, response)
  } else {
    sendPage(response, 200, interactionPage(await interactionOf(request, response)))
  }
}

async function submit(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const interaction = await interactionOf(request, response)
  if (interaction.prompt === 'consent') {
    await provider.interactionFinished(request, response, { consent: {} }, { mergeWithLastSubmission: true })
    return
  }
  const login = (await readForm(request)).get('login')?.trim() ?? ''
  if (login === '') {
    sendPage(response, 400, interactionPage({ ...interaction, problem: 'Enter a name or an email address.' }))
    return
  }
  const result = { login: { accountId: emailOf(login) } }
  // Or the provider would first ask the person of the last sign-in to sign out.
  const session = provider.cookieName('session')
  response.setHeader('set-cookie', [`${session}=; path=/; max-age=0`, `${session}.sig=; path=/; max-age=0`])
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
}

async function interactionOf(request: IncomingMessage, response: ServerResponse): Promise<Interaction> {
  const { uid, prompt, params } = await provider.interactionDetails(request, response)
  const hint = params['login_hint']
  return {
    uid,
    prompt: prompt.name,
    client: String(params['client_id']),
    // Filled in, so that a developer who is nobody in particular signs in by one click.
    login: typeof hint === 'string' ? hint : 'you',
  }
}

function problemOf(error: Error): string {
  if (error instanceof errors.SessionNotFound)
    return 'This sign-in has expired or was started in another browser.'
  return error.message
}

async function grantAll(ctx: KoaContextWithOIDC) {
  const { client, session, params } = ctx.oidc
  if (!client || !session?.accountId) return undefined
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
  grant.addOIDCScope(String(params?.['scope'] ?? 'openid'))
  await grant.save()
  return grant
}

/** One person however they type themselves, so the address is the account. */
function emailOf(login: string): string {
  return (login.includes('@') ? login : `${login}@example.test`).toLowerCase()
}

function claimsOf(email: string) {
  const local = email.slice(0, email.indexOf('@'))
  const words = local.split(/[.\-_+ ]+/).filter((word) => word !== '')
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(' ')
  return { sub: email, email, email_verified: true, name: name || email }
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let body = ''
  for await (const bytes of request) {
    body += String(bytes)
    if (body.length > bodyLimitBytes) throw new Error('the form is too large')
  }
  return new URLSearchParams(body)
}

function sendPage(response: ServerResponse, status: number, html: string): void {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
  response.end(html)
}

function setting(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set`)
  return value
}
