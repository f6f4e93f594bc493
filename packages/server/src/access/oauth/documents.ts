import Provider, { type Configuration } from 'oidc-provider'
import { networkOf } from '#platform/network.ts'
import type { Outbound } from '#platform/outbound.ts'
import { checkDestination, OutboundError, requestBounded } from '#platform/outbound.ts'
import { nameProblem } from './client-name.ts'
import { redirectUriProblem } from './redirect-uri.ts'

const longestDocumentBytes = 5 * 1024
/** Strangers name the addresses: whoever names slow ones keeps no more than these busy, and from one place few of them. */
const mostAtOnce = 20
const mostFromOnePlace = 4

/** Where a request came from, for what the library calls back for; clients' own is never passed on. */
export const askerHeader = 'x-asked-from'

/** What an app says of itself in its document, as far as it matters here. */
export interface DocumentFacts {
  readonly name: string
  readonly redirectUris: readonly string[]
}

/** What was kept of it with a request that a person decides; undefined for an app that was registered here. */
export function documentOf(
  interaction: { readonly prompt: { readonly details: object } } | undefined,
): DocumentFacts | undefined {
  return (interaction?.prompt.details as { document?: DocumentFacts } | undefined)?.document
}

/** Says why an app's document is not taken, to whoever follows the app's link. */
export class DocumentProblem extends Error {}

/**
 * Whether an app is known by the address of the document that describes it. Ids of registered apps never look like one.
 */
export function isDocumentId(clientId: string): boolean {
  return clientId.startsWith('https://')
}

/** One address for one document: whatever reads differently than it is written is refused, and so is a bare host. */
export function isDocumentAddress(clientId: string): boolean {
  if (!isDocumentId(clientId) || !URL.canParse(clientId)) return false
  const url = new URL(clientId)
  return url.href === clientId && url.pathname !== '/' && url.hash === '' && url.username === ''
}

/**
 * Reads documents for the library, as safely as any address that a stranger names: judged by its text and by all that
 * its name stands for, dialled where it was judged, not redirected, small and in little time. Of what a document says
 * only what is known here goes on to the library; it would follow further addresses in it.
 */
export function documentReader(
  reached: Outbound,
  allow: readonly string[],
): NonNullable<Configuration['fetch']> {
  const open: string[] = []
  return async (input, init) => {
    const place = networkOf(Provider.ctx?.get(askerHeader) ?? '')
    const ofPlace = open.filter((other) => other === place)
    if (open.length >= mostAtOnce || ofPlace.length >= mostFromOnePlace)
      throw new DocumentProblem('Too many apps ask at this moment; try again.')
    open.push(place)
    try {
      const outbound = { ...reached, allow }
      const address = input instanceof Request ? input.url : String(input)
      const signal = init?.signal ?? AbortSignal.timeout(2500)
      const destination = await checkDestination(outbound, address, signal)
      const { status, headers, body } = await requestBounded(outbound, destination, {
        method: 'GET',
        headers: { accept: 'application/json' },
        maxBytes: longestDocumentBytes,
        signal,
      })
      if (status !== 200) throw new DocumentProblem(`${unread}: its address answered ${status}, not 200.`)
      if (!isJson(headers['content-type'])) throw new DocumentProblem(`${unread}: it is not JSON.`)
      const { 'cache-control': caching = '', expires = '' } = headers
      return new Response(JSON.stringify(knownPart(address, body.toString())), {
        headers: { 'cache-control': caching, expires },
      })
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      // Which of the reasons it was would map our network for whoever asks.
      throw new DocumentProblem(`${unread} from its address.`, { cause: error })
    } finally {
      open.splice(open.indexOf(place), 1)
    }
  }
}

const unread = 'The document that describes this app could not be read'

function isJson(contentType = ''): boolean {
  const type = (contentType.split(';')[0] ?? '').trim().toLowerCase()
  return type === 'application/json' || (type.startsWith('application/') && type.endsWith('+json'))
}

function knownPart(address: string, text: string) {
  const given = parseObject(text)
  const { client_id, client_name = new URL(address).host, redirect_uris } = given
  const { token_endpoint_auth_method: method = 'none' } = given
  if (client_id !== address) throw invalid('client_id', 'must be the address of the document itself')
  if (method !== 'none' || 'client_secret' in given)
    throw invalid('token_endpoint_auth_method', 'must be none: what is public keeps no secret')
  if (typeof client_name !== 'string') throw invalid('client_name', 'must be text')
  const problem = nameProblem(client_name)
  if (problem !== undefined) throw invalid('client_name', problem)
  // An app that lists addresses for other services too can use those that are good here.
  const usable = [redirect_uris].flat().filter((uri) => typeof uri === 'string' && !redirectUriProblem(uri))
  if (usable.length === 0) throw invalid('redirect_uris', 'has none that can be used here')
  return {
    client_id,
    client_name: client_name.trim(),
    redirect_uris: usable,
    token_endpoint_auth_method: 'none',
    application_type: 'native',
    response_types: ['code'],
    response_modes: ['query', 'fragment'],
    grant_types: ['authorization_code', 'refresh_token'],
  }
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // Told like anything else that is no object.
  }
  throw new DocumentProblem(`${unread}: it is no JSON object.`)
}

function invalid(field: string, problem: string): DocumentProblem {
  return new DocumentProblem(`The document that describes this app is not valid: ${field} ${problem}.`)
}
