import { generateKeyPair, randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startChild } from './child.ts'
import { logFileOf, type PartOptions } from './folder.ts'
import { claimPort, retryOnTakenPort } from './ports.ts'
import { httpGet } from './probes.ts'
import { baseEnv } from './spawn.ts'

export type IdentityOptions = PartOptions & { clientId: string; clientSecret: string; redirectUri: string }

export type IdentityProvider = { url: string; pid: () => number | null; stop: () => Promise<void> }

const program = fileURLToPath(new URL('identity-provider.ts', import.meta.url))

/** Its keys are made here and not in the process, so that a restart does not make them strangers' keys. */
export async function startIdentity(options: IdentityOptions): Promise<IdentityProvider> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  const signingKey = JSON.stringify({ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' })
  return retryOnTakenPort(() => startOnce(options, signingKey))
}

async function startOnce(options: IdentityOptions, signingKey: string): Promise<IdentityProvider> {
  const { dir, restart, signal, onChange, clientId, clientSecret, redirectUri } = options
  signal?.throwIfAborted()
  const { port, release } = await claimPort()
  const url = `http://127.0.0.1:${port}`
  const instance = randomBytes(16).toString('hex')
  const child = startChild({
    name: 'identity',
    program: process.execPath,
    args: [program],
    env: {
      ...baseEnv(dir),
      PORT: String(port),
      CLIENT_ID: clientId,
      CLIENT_SECRET: clientSecret,
      REDIRECT_URI: redirectUri,
      SIGNING_KEY: signingKey,
      COOKIE_KEY: randomBytes(32).toString('base64url'),
      INSTANCE: instance,
    },
    logFile: logFileOf(dir, 'identity'),
    restart: restart ?? true,
    onChange,
  })
  const stop = async () => {
    await child.stop()
    release()
  }
  try {
    const isUp = async () => (await httpGet(`${url}/healthz`))?.body.includes(instance) ?? false
    await child.ready(isUp, signal)
  } catch (error) {
    await stop()
    throw error
  }
  return { url, pid: child.pid, stop }
}
