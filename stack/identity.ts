import { generateKeyPair, randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { PartOptions } from './folder.ts'
import { type OwnProgram, startOwnProgram } from './own-program.ts'

export type IdentityOptions = PartOptions & { clientId: string; clientSecret: string; redirectUri: string }

export type IdentityProvider = OwnProgram

const program = fileURLToPath(new URL('identity-provider.ts', import.meta.url))

/** Its keys are made here and not in the process, so that a restart does not make them strangers' keys. */
export async function startIdentity(options: IdentityOptions): Promise<IdentityProvider> {
  const { clientId, clientSecret, redirectUri, ...part } = options
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  const env = {
    CLIENT_ID: clientId,
    CLIENT_SECRET: clientSecret,
    REDIRECT_URI: redirectUri,
    SIGNING_KEY: JSON.stringify({ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }),
    COOKIE_KEY: randomBytes(32).toString('base64url'),
  }
  return startOwnProgram({ ...part, name: 'identity', program, env })
}
