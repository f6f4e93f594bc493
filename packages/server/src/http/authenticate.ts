import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from './api-error.ts'
import type { Principal } from './principal.ts'

/** Checks of the features that own a kind of credential; undefined means: not (or no longer) a valid one. */
export interface Authenticators {
  key(secret: string, address: string): Promise<Principal | undefined>
  /** Refuses with FORBIDDEN when the person is no member of the workspace the header names. */
  session(token: string, workspaceId: string | undefined): Promise<Principal | undefined>
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
  const workspaceId = headers['x-workspace-id']
  const principal =
    kind === 'session'
      ? await authenticators.session(
          text(headers['x-auth-token']),
          workspaceId === undefined ? undefined : text(workspaceId),
        )
      : undefined
  if (!principal) throw new ApiError('UNAUTHORIZED', { message: 'Invalid auth token' })
  return principal
}

export function credentialKind(headers: IncomingHttpHeaders): CredentialKind {
  if (headers['x-api-key'] !== undefined) return 'key'
  if (headers['x-auth-token'] !== undefined) return 'session'
  return headers.authorization !== undefined ? 'oauth' : 'none'
}

function text(header: string | string[] | undefined): string {
  return typeof header === 'string' ? header : ''
}
