import type { IncomingHttpHeaders } from 'node:http'
import type { Route, SessionKind } from '@guildhall/contract'
import { ApiError } from '#operations/errors.ts'
import type { Principal } from '#operations/principal.ts'
import { secretPrefixes } from '#platform/secrets.ts'

/** Checks of the features that own a kind of credential; undefined means: not (or no longer) a valid one. */
export interface Authenticators {
  /** `anew`: not as it was believed to be a moment ago. */
  key(secret: string, address: string, anew?: boolean): Promise<Principal | undefined>
  /** `kind`: in which way the token was shown; one of the other kind is not good there. */
  session(token: string, kind: SessionKind): Promise<Principal | undefined>
  /** The same session in another workspace; undefined when its person is no member there. */
  enterWorkspace(session: Principal, workspaceId: string): Promise<Principal | undefined>
  oauth(token: string): Promise<Principal | undefined>
}

export type CredentialKind = 'key' | 'session' | 'oauth' | 'none'

/**
 * Reads exactly one credential; where several come along the first of key, session and bearer counts. `ofPage` is the
 * token in the cookie of a page of the app, which counts when there is nothing else.
 */
export async function authenticate(
  authenticators: Authenticators,
  headers: IncomingHttpHeaders,
  address: string,
  ofPage?: string,
): Promise<Principal> {
  const kind = credentialKind(headers)
  if (kind === 'key') {
    const principal = await authenticators.key(text(headers['x-api-key']), address)
    if (!principal) throw new ApiError('UNAUTHORIZED', { message: 'Invalid API key' })
    return principal
  }
  if (kind === 'none' && ofPage === undefined) throw new ApiError('UNAUTHORIZED')
  const principal = await (kind === 'none'
    ? authenticators.session(text(ofPage), 'browser')
    : kind === 'session'
      ? authenticators.session(text(headers['x-auth-token']), 'token')
      : authenticators.oauth(bearerToken(headers)))
  if (!principal) throw new ApiError('UNAUTHORIZED', { message: 'Invalid auth token' })
  return principal
}

/**
 * The key as it is at this moment, when that is more than it was believed to be: who has just been told that a person
 * agreed is not refused because this process has not heard of it yet.
 */
export async function keyWithMore(
  authenticators: Authenticators,
  { kind, scopes, activated }: Principal,
  headers: IncomingHttpHeaders,
  address: string,
): Promise<Principal | undefined> {
  if (kind !== 'key') return undefined
  const secret = text(keyFromBearer(headers)['x-api-key'])
  const now = await authenticators.key(secret, address, true)
  const isMore = now && (now.activated !== activated || now.scopes.some((scope) => !scopes.includes(scope)))
  return isMore ? now : undefined
}

/** A session acts where the header says; keys and OAuth tokens are bound and do not read it. */
export async function actInWorkspace(
  authenticators: Authenticators,
  principal: Principal,
  headers: IncomingHttpHeaders,
): Promise<Principal> {
  const header = headers['x-workspace-id']
  if (header === undefined || principal.kind !== 'session') return principal
  const entered = await authenticators.enterWorkspace(principal, text(header))
  if (entered) return entered
  throw new ApiError('FORBIDDEN', { message: 'You are not a member of the workspace in x-workspace-id' })
}

export function credentialKind(headers: IncomingHttpHeaders): CredentialKind {
  if (headers['x-api-key'] !== undefined) return 'key'
  if (headers['x-auth-token'] !== undefined) return 'session'
  return headers.authorization !== undefined ? 'oauth' : 'none'
}

/**
 * At a door for agents a key may also come as a bearer token: many clients have no other field for it. What it is shows
 * in its first letters.
 */
export function keyFromBearer(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const token = bearerToken(headers)
  if (credentialKind(headers) !== 'oauth' || !token.startsWith(secretPrefixes.apiKey)) return headers
  return { 'x-api-key': token }
}

/** Whoever an app shows its token to at the door for agents cannot go on with it elsewhere. */
export function requireAudience(route: Pick<Route, 'door'>, { audience }: Principal): void {
  if (audience !== 'mcp' || route.door) return
  throw new ApiError('UNAUTHORIZED', {
    message: 'This token is for /mcp/ alone; ask for one whose resource is the service',
    authenticate: 'Bearer error="invalid_token"',
  })
}

/** The token of an Authorization header, empty when it is none of ours. */
export function bearerToken(headers: IncomingHttpHeaders): string {
  return /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? ''
}

function text(header: string | string[] | undefined): string {
  return typeof header === 'string' ? header : ''
}
