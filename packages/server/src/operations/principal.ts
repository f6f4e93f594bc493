import type { Mode } from '../platform/tables.ts'

/**
 * Who a request acts for, whichever credential it came with. Every principal works in exactly one workspace:
 * a key's own, the one of an OAuth grant, or the one a session chose for this request.
 */
export interface Principal {
  readonly kind: 'key' | 'session' | 'oauth'
  readonly credentialId: number
  /** What windows and idempotency keys are counted against: `key:12`, `session:7`. */
  readonly credential: string
  readonly userId: string
  readonly workspaceId: string
  readonly mode: Mode
  readonly scopes: readonly string[]
  /** False for a key that waits for its first consent. */
  readonly activated: boolean
}

/** Through what something is started, as its record keeps it; neither for a session. */
export interface StartedThrough {
  readonly apiKeyId: number | null
  readonly oauthGrantId: number | null
}

export function startedThrough({
  kind,
  credentialId,
}: Pick<Principal, 'kind' | 'credentialId'>): StartedThrough {
  return {
    apiKeyId: kind === 'key' ? credentialId : null,
    oauthGrantId: kind === 'oauth' ? credentialId : null,
  }
}
