import { createHash, randomBytes, randomUUID } from 'node:crypto'
import pg from 'pg'
import { insertGrant } from '#access/oauth/grant-store.ts'
import { insertRecord } from '#access/oauth/store.ts'
import { hashSecret, mintSecret } from '#platform/secrets.ts'
import { makeFolder, removeFolder } from '../../../../stack/folder.ts'
import { startIdentity } from '../../../../stack/identity.ts'
import { type Browser, openBrowser, type Visit } from '../../../../test/support/browser.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from './house.ts'

export const publicUrl = 'http://house.test'
export const callback = 'https://app.example/callback'

export interface App {
  id: string
  secret: string | null
}

export interface Tokens {
  access_token: string
  refresh_token: string
  scope: string
  expires_in: number
  token_type: string
}

export interface OAuthHouse {
  house: House
  databaseUrl: string
  /** Another process's worth of the same; whoever opens it closes it. */
  openAnother(): Promise<House>
  /** Who registers apps. */
  owner: Person
  // biome-ignore lint/suspicious/noExplicitAny: tests look into rows whose shape they assert
  query(text: string, values?: unknown[]): Promise<any[]>
  close(): Promise<void>
}

/** A house with an identity provider beside it. */
export async function openOAuthHouse(env: Record<string, string> = {}): Promise<OAuthHouse> {
  const dir = await makeFolder()
  const client = { clientId: 'guildhall', clientSecret: 'of-this-test' }
  const redirectUri = `${env['PUBLIC_URL'] ?? publicUrl}/api/v1/auth/callback`
  const identity = await startIdentity({ dir, ...client, redirectUri })
  const databaseUrl = await createDatabase()
  const settings = {
    DATABASE_URL: databaseUrl,
    PUBLIC_URL: publicUrl,
    AUTH_PROVIDERS: JSON.stringify([{ id: 'dev', name: 'Dev', issuer: identity.url, ...client }]),
    ...env,
  }
  const house = await openHouse(settings)
  const db = new pg.Client({ connectionString: databaseUrl })
  await db.connect()
  return {
    house,
    databaseUrl,
    openAnother: () => openHouse(settings),
    owner: await house.newPerson(),
    query: async (text, values = []) => (await db.query(text, values)).rows,
    close: async () => {
      await db.end()
      await house.close()
      await identity.stop()
      await removeFolder(dir)
    },
  }
}

export function newPkce() {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

export async function registerApp(house: House, owner: Person, body: object = {}): Promise<App> {
  const answer = await house.call('POST', '/api/v1/oauth/clients', {
    token: owner.token,
    body: { name: 'Weather Bot', redirect_uris: [callback], ...body },
  })
  if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`)
  return { id: answer.body.client_id, secret: answer.body.client_secret }
}

export function authorizeUrl(app: App, query: Record<string, string> = {}): string {
  const all = {
    response_type: 'code',
    client_id: app.id,
    redirect_uri: callback,
    scope: 'read',
    state: 'a b/&=%',
    ...query,
  }
  return `${publicUrl}/oauth/authorize?${new URLSearchParams(all)}`
}

/** Where the link of a page of refusal leads, with what the app is told there. */
export function wayBack(page: { readonly text: string }): URL {
  const [, href = ''] = /<a class="btn" href="([^"]+)"/.exec(page.text) ?? []
  return new URL(href.replaceAll('&#38;', '&').replace('#', '?'))
}

export function browserFor(house: House): Browser {
  return openBrowser({ reach: { [publicUrl]: house.url }, stopAt: callback })
}

/** From the app's link to the page of consent, with a sign-in at the provider on the way. */
export async function reachConsent(browser: Browser, url: string, login: string): Promise<Visit> {
  const signInPage = await browser.open(url)
  if (!signInPage.text.includes('Sign in to continue')) {
    throw new Error(`no sign-in page but ${signInPage.status}: ${signInPage.text}`)
  }
  const atProvider = await browser.submit(signInPage)
  return browser.submit(atProvider, { login })
}

/** A code for the app, with the person's consent. */
export async function newAuthorization(
  house: House,
  app: App,
  options: { login?: string; query?: Record<string, string>; fields?: Record<string, string> } = {},
): Promise<URLSearchParams> {
  const browser = browserFor(house)
  const page = await reachConsent(browser, authorizeUrl(app, options.query), options.login ?? 'alice')
  const { url } = await browser.submit(page, { decision: 'allow', ...options.fields })
  return url.searchParams
}

export function exchange(house: House, app: App, body: Record<string, unknown>) {
  return house.call('POST', '/oauth/token', {
    body: {
      grant_type: 'authorization_code',
      redirect_uri: callback,
      client_id: app.id,
      ...(app.secret === null ? {} : { client_secret: app.secret }),
      ...body,
    },
  })
}

export async function newTokens(
  house: House,
  app: App,
  options: Parameters<typeof newAuthorization>[2] = {},
): Promise<Tokens> {
  const { verifier, challenge } = newPkce()
  const query = { code_challenge: challenge, code_challenge_method: 'S256', ...options.query }
  const redirect = await newAuthorization(house, app, { ...options, query })
  const answer = await exchange(house, app, { code: redirect.get('code'), code_verifier: verifier })
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
  return answer.body
}

export const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

/** An access token with the records that consent and exchange leave, for whoever signs in at no provider. */
export async function grantToken(
  house: House,
  app: Pick<App, 'id'>,
  { userId, workspaceId }: Pick<Person, 'userId' | 'workspaceId'>,
): Promise<{ token: string; grantId: string }> {
  const [token, grantId] = [mintSecret('oauthAccess'), randomUUID()]
  const scope = 'read write'
  const shared = { grant_id: grantId, client_id: app.id, user_id: userId }
  await house.deps.database.transaction(async (tx) => {
    const given = { grantId, clientId: app.id, userId, workspaceId, payload: { openid: { scope } } }
    await insertGrant(tx, given, 3600)
    const issued = JSON.stringify({ accountId: userId, clientId: app.id, grantId, scope })
    await insertRecord(
      tx,
      { ...shared, model: 'AccessToken', id_hash: hashSecret(token), payload: issued },
      3600,
    )
  })
  return { token, grantId }
}
