import { randomBytes } from 'node:crypto'
import type { RestateServer } from './restate.ts'
import type { Front } from './roles.ts'

type SettingsOptions = {
  front: Front
  databaseUrl: string
  redisUrl: string
  restate: RestateServer
  limits: 'on' | 'off'
}

/** What the API and worker processes are configured with, apart from the port of each. */
export function roleSettings(options: SettingsOptions): Record<string, string> {
  const { front, databaseUrl, redisUrl, restate, limits } = options
  const provider = {
    id: 'dev',
    name: 'Development sign-in',
    issuer: front.identity.url,
    clientId: front.client.id,
    clientSecret: front.client.secret,
  }
  return {
    NODE_ENV: 'development',
    HOST: '127.0.0.1',
    PUBLIC_URL: front.baseUrl,
    WORKER_URL: front.workerUrl,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    RESTATE_INGRESS_URL: restate.ingressUrl,
    RESTATE_ADMIN_URL: restate.adminUrl,
    RESTATE_IDENTITY_KEY: restate.identityKey,
    KEY_PEPPERS: `1:${secret()}`,
    SIGNING_KEYS: `1:${secret()}`,
    AUTH_DEV: '1',
    AUTH_PROVIDERS: JSON.stringify([provider]),
    LOG_LEVEL: 'info',
    STOP_GRACE_MS: '0',
    ...(limits === 'off' ? { LIMITS: 'off' } : {}),
  }
}

function secret(): string {
  return randomBytes(32).toString('base64url')
}
