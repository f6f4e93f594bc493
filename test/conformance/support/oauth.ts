import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inject } from 'vitest'
import { openBrowser, type Visit } from '../../support/browser.ts'
import { must, newEmail, newVisitor, type Person, type SignedIn } from './actors.ts'
import { type Answer, type Caller, newCaller } from './client.ts'
import { signInWithProvider } from './identity.ts'

export const callback = 'https://app.example/callback'
export const awkwardState = 'a b/&=%'

export interface App {
  client_id: string
  client_secret: string | null
}

export interface Tokens {
  access_token: string
  token_type: string
  expires_in: number
  refresh_token: string
  scope: string
}

export interface OAuthError {
  error: string
  error_description?: string
}

interface Authorization {
  /** Whoever the identity provider takes for this login. */
  login?: string
  query?: Record<string, string>
  /** Of the form on the page of consent. */
  fields?: Record<string, string>
}

export async function newApp(owner: Caller, fields: object = {}): Promise<App> {
  const body = { name: 'Weather Bot', redirect_uris: [callback], ...fields }
  return must(await owner.post<App>('/oauth/clients', body), 201)
}

export function authorizePath(app: App, query: Record<string, string> = {}): string {
  const all = {
    response_type: 'code',
    client_id: app.client_id,
    redirect_uri: callback,
    scope: 'read',
    state: awkwardState,
    ...query,
  }
  return `/oauth/authorize?${new URLSearchParams(all)}`
}

export function newPkce() {
  const verifier = randomBytes(32).toString('base64url')
  const code_challenge = createHash('sha256').update(verifier).digest('base64url')
  return { verifier, query: { code_challenge, code_challenge_method: 'S256' } }
}

/** The whole way of a browser: sign-in at the identity provider, the page of consent, and back to the app. */
export async function authorize(
  app: App,
  { login = newEmail(), query = {}, fields = {} }: Authorization = {},
): Promise<{ back: URLSearchParams; page: Visit }> {
  const baseUrl = inject('baseUrl')
  const door = await openOwnDoor(baseUrl)
  try {
    const browser = openBrowser({ reach: { [baseUrl]: door.url }, stopAt: callback })
    const signIn = await browser.open(baseUrl + authorizePath(app, query))
    const page = await browser.submit(await browser.submit(signIn), { login })
    const { url, text } = await browser.submit(page, { decision: 'allow', ...fields })
    if (!url.href.startsWith(`${callback}?`)) throw new Error(`Ended at ${url}: ${text}`)
    return { back: url.searchParams, page }
  } finally {
    door.close()
  }
}

/** Browsers cannot choose where their requests come from; through this each has an address of its own. */
async function openOwnDoor(baseUrl: string): Promise<{ url: string; close(): void }> {
  const { address } = newVisitor()
  const server = createServer((incoming, outgoing) => {
    const { method, headers, url } = incoming
    const options = { method, headers, agent: false, ...(address ? { localAddress: address } : {}) }
    const onward = request(baseUrl + url, options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.once('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

export function exchange(app: App, body: Record<string, unknown>): Promise<Answer<Tokens & OAuthError>> {
  const { client_id, client_secret } = app
  const secret = client_secret === null ? {} : { client_secret }
  const fields = { grant_type: 'authorization_code', redirect_uri: callback, client_id, ...secret, ...body }
  return newVisitor().post('root:/oauth/token', fields)
}

export async function newTokens(app: App, authorization: Authorization = {}): Promise<Tokens> {
  const { back } = await authorize(app, authorization)
  return must(await exchange(app, { code: back.get('code') }), 200)
}

export function revoke(app: App, token: string): Promise<Answer> {
  const { client_id, client_secret } = app
  return newVisitor().post('root:/oauth/revoke', { token, client_id, client_secret })
}

export function bearer(token: string): Caller {
  return newCaller({ headers: { authorization: `Bearer ${token}` } })
}

/** Somebody who signs in at the identity provider, in the app as on the page of consent. */
export async function newProviderPerson(): Promise<Person> {
  const email = newEmail()
  const visitor = newVisitor()
  const { code } = await signInWithProvider(visitor, email)
  const signedIn = must(await visitor.post<SignedIn>('/auth/exchange', { code }), 200)
  const token = signedIn.auth_token
  const caller = newCaller({ headers: { 'x-auth-token': token } })
  return {
    ...caller,
    email,
    token,
    userId: signedIn.user.id,
    workspaceId: signedIn.current_workspace_id,
    signedIn,
  }
}
