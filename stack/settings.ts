import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { RestateServer } from './restate.ts'
import type { Front } from './roles.ts'
import type { SwiftServer } from './swift.ts'

type SettingsOptions = {
  front: Front
  databaseUrl: string
  redisUrl: string
  restate: RestateServer
  storage: Record<string, string>
  limits: 'on' | 'off'
}

/** What the API and worker processes are configured with, apart from the port of each. */
export function roleSettings(options: SettingsOptions): Record<string, string> {
  const { front, databaseUrl, redisUrl, restate, storage, limits } = options
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
    ...storage,
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

export function storageSettings(dir: string, swift: SwiftServer | undefined): Record<string, string> {
  if (!swift) {
    const blobs = join(dir, 'blobs')
    mkdirSync(blobs, { recursive: true, mode: 0o700 })
    return { STORAGE: `directory:${blobs}` }
  }
  return {
    STORAGE: 's3',
    S3_ENDPOINT: swift.endpoint,
    S3_REGION: swift.region,
    S3_BUCKET: swift.bucket,
    S3_ACCESS_KEY_ID: swift.accessKeyId,
    S3_SECRET_ACCESS_KEY: swift.secretAccessKey,
  }
}

function secret(): string {
  return randomBytes(32).toString('base64url')
}
