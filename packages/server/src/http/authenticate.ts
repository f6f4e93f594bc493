import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from '../operations/errors.ts'
import type { Principal } from '../operations/principal.ts'

/** Checks of the features that own a kind of credential; undefined means: not (or no longer) a valid one. */
export interface Authenticators {
  key(secret: string, address: string): Promise<Principal | undefined>
  session(token: string): Promise<Principal | undefined>
  /** The same session in another workspace; undefined when its person is no member there. */
  enterWorkspace(session: Principal, workspaceId: string): Promise<Principal | undefined>
  oauth(token: string): Promise<Principal | undefined>
}

export type CredentialKind = 'key' | 'session' | 'oauth' | 'none'

/** Reads exactly one credential; where several come along the first of key, session and bearer counts. */
export async function authenticate(
  authenticators: Authenticators,
  headers: IncomingHttpHeaders,
  address: string,
): Promise<Principal> {
  const kind = credentialKind(headers)
  if (kind === 'key') {
    const principal = await authenticators.key(text(headers['x-api-key']), address)
    if (!principal) throw new ApiError('UNAUTHORIZED', { message: 'Invalid API key' })
    return principal
  }
  if (kind === 'none') throw new ApiError('UNAUTHORIZED')
  const principal =
    kind === 'session'
      ? await authenticators.session(text(headers['x-auth-token']))
      : await authenticators.oauth(bearerToken(headers))
  if (!principal) throw new ApiError('UNAUTHORIZED', { message: 'Invalid auth token' })
  return principal
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

/** The token of an Authorization header, empty when it is none of ours. */
export function bearerToken(headers: IncomingHttpHeaders): string {
  return /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? ''
}

function text(header: string | string[] | undefined): string {
  return typeof header === 'string' ? header : ''
}
