import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../../../../test/support/browser.ts'
import { type DocumentHost, openDocumentHost } from '../support/app-documents.ts'
import type { House } from '../support/house.ts'
import { bearer, type OAuthHouse, openOAuthHouse, reachConsent } from '../support/oauth.ts'

/** What clients take for a public address: they send no credential to any other without TLS. */
const service = 'https://house.test'
const redirectUrl = 'http://localhost:49321/callback'

let host: DocumentHost
let set: OAuthHouse
let houses: House[]

beforeAll(async () => {
  host = await openDocumentHost()
  set = await openOAuthHouse({ ...host.env, PUBLIC_URL: service, OAUTH_REGISTRATION: '1' })
  houses = [set.house, await set.openAnother()]
})

afterAll(async () => {
  await houses[1]?.close()
  await set.close()
  host.close()
})

/** Each request to another process, and what was asked and answered. */
function reachInTurn(seen: string[]): typeof fetch {
  let turn = 0
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const answer = await fetch(new URL(url.pathname + url.search, houses[turn++ % 2]?.url), init)
    seen.push(`${init?.method ?? 'GET'} ${url.pathname} ${answer.status}`)
    return answer
  }
}

type Kept = Parameters<OAuthClientProvider['saveTokens']>[0]
type Known = Parameters<NonNullable<OAuthClientProvider['saveClientInformation']>>[0]
type Discovered = Parameters<NonNullable<OAuthClientProvider['saveDiscoveryState']>>[0]

/** The part of a client that keeps what it is given, and would open a browser. */
class Keeper implements OAuthClientProvider {
  readonly redirectUrl = redirectUrl
  readonly clientMetadata = {
    client_name: 'Editor',
    redirect_uris: [redirectUrl],
    token_endpoint_auth_method: 'none',
  }
  readonly clientMetadataUrl?: string
  readonly asked: URL[] = []
  kept: Kept | undefined
  #known: Known | undefined
  #discovered: Discovered | undefined
  #verifier = ''

  constructor(clientMetadataUrl?: string) {
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl
  }

  clientInformation = () => this.#known
  saveClientInformation = (known: Known) => {
    this.#known = known
  }
  tokens = () => this.kept
  saveTokens = (tokens: Kept) => {
    this.kept = tokens
  }
  redirectToAuthorization = (url: URL) => void this.asked.push(url)
  saveCodeVerifier = (verifier: string) => {
    this.#verifier = verifier
  }
  codeVerifier = () => this.#verifier
  saveDiscoveryState = (discovered: Discovered) => {
    this.#discovered = discovered
  }
  discoveryState = () => this.#discovered
}

/** The person allows it, in a browser whose requests reach one process and then the other. */
async function allow(url: URL, shown: string): Promise<URLSearchParams> {
  const browser = openBrowser({ reach: { [service]: houses[0]?.url ?? '' }, stopAt: redirectUrl })
  const page = await reachConsent(browser, url.href, 'alice')
  const other = openBrowser({ reach: { [service]: houses[1]?.url ?? '' }, stopAt: redirectUrl })
  expect((await other.open(page.url.href)).status, 'the page is for the browser that began').toBe(404)
  expect(page.text).toContain(shown)
  expect(page.text).toContain(`${service}/mcp/</span> and nowhere else`)
  const { url: back } = await browser.submit(page, { decision: 'allow' })
  await set.query("update users set mode = 'basedmode'")
  return back.searchParams
}

function openTransport(keeper: Keeper, seen: string[]): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(new URL(`${service}/mcp/`), {
    authProvider: keeper,
    fetch: reachInTurn(seen),
  })
}

const newClient = () => new Client({ name: 'Editor', version: '1' }, { versionNegotiation: { mode: 'auto' } })

test('from 401 to a call, and from 403 to one that needs more, by nothing but what the answers say', async () => {
  const { id } = host.describeApp({ redirect_uris: ['http://localhost/callback'] })
  const keeper = new Keeper(id)
  const seen: string[] = []
  const open = () => openTransport(keeper, seen)

  const first = open()
  await expect(newClient().connect(first)).rejects.toBeInstanceOf(UnauthorizedError)
  expect(seen).toEqual([
    'POST /mcp/ 401',
    'GET /.well-known/oauth-protected-resource/mcp/ 200',
    'GET /.well-known/oauth-authorization-server 200',
  ])
  const asked = Object.fromEntries(keeper.asked[0]?.searchParams ?? [])
  expect(asked).toMatchObject({
    client_id: id,
    resource: `${service}/mcp/`,
    scope: 'read write',
    code_challenge_method: 'S256',
    redirect_uri: redirectUrl,
  })
  await first.finishAuth(await allow(keeper.asked[0] as URL, new URL(host.origin).host))
  expect(keeper.kept?.scope).toBe('read write')

  const transport = open()
  const client = newClient()
  await client.connect(transport)
  const { structuredContent } = await client.callTool({ name: 'whoami', arguments: {} })
  expect(structuredContent).toMatchObject({ mode: 'basedmode' })
  const token = keeper.kept?.access_token ?? ''
  expect((await set.house.call('GET', '/api/v1/workspaces', bearer(token))).status).toBe(401)

  const append = {
    name: 'append_trace',
    arguments: { trace_id: 'trace_none', events: [{ type: 'user.message', payload: { content: 'x' } }] },
  }
  await expect(client.callTool(append)).rejects.toThrow()
  expect(keeper.asked).toHaveLength(2)
  const more = keeper.asked[1] as URL
  expect(more.searchParams.get('scope')?.split(' ').sort()).toEqual(['read', 'trace:write', 'write'])
  expect(more.searchParams.get('resource')).toBe(`${service}/mcp/`)
  await transport.finishAuth(await allow(more, new URL(host.origin).host))
  const done = await client.callTool(append)
  // The right is there by now, and so it is told that the trace is not.
  expect(JSON.stringify(done._meta)).toContain('NOT_FOUND')
  await client.close()
})

test('a client that has no document registers itself where the operator lets it', async () => {
  const keeper = new Keeper()
  const seen: string[] = []
  const first = openTransport(keeper, seen)
  await expect(newClient().connect(first)).rejects.toBeInstanceOf(UnauthorizedError)
  expect(seen.at(-1)).toBe('POST /oauth/register 201')
  const asked = keeper.asked[0] as URL
  expect(asked.searchParams.get('client_id')).toMatch(/^self_/)
  await first.finishAuth(await allow(asked, 'nobody answers for it'))
  const client = newClient()
  await client.connect(openTransport(keeper, seen))
  const { structuredContent } = await client.callTool({ name: 'whoami', arguments: {} })
  expect(structuredContent).toMatchObject({ mode: 'basedmode' })
  await client.close()
})
