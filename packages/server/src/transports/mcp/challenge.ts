import type { ApiError } from '#operations/errors.ts'
import type { Principal } from '#operations/principal.ts'
import type { Config } from '#platform/config.ts'

/** Tells a client that was refused where tokens for this address come from, and what to ask for. */
export function challengeAt({ publicUrl }: Config, path: string) {
  const metadata = `resource_metadata="${publicUrl}/.well-known/oauth-protected-resource${path}"`
  return ({ code, authenticate, message }: ApiError, principal: Principal | undefined) => {
    if (code === 'UNAUTHORIZED') return `Bearer ${metadata}, scope="read write"`
    // A key gets what it lacks from its owner, not from the authorization server.
    if (authenticate === undefined || principal?.kind !== 'oauth') return undefined
    return `${authenticate}, ${metadata}, error_description="${message.replace(/["\\]/g, '')}"`
  }
}
