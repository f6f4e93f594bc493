import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { cgroupName } from './cgroups.ts'
import type { RestateServer } from './restate.ts'
import type { Front } from './roles.ts'
import type { SwiftServer } from './swift.ts'

export type ModelProtocol = 'anthropic' | 'openai'

type SettingsOptions = {
  front: Front
  databaseUrl: string
  redisUrl: string
  restate: RestateServer
  storage: Record<string, string>
  limits: 'on' | 'off'
  dir: string
  modelUrl: string
  protocol: ModelProtocol
}

/** What the API and worker processes are configured with, apart from the port of each. */
export function roleSettings(options: SettingsOptions): Record<string, string> {
  const { front, databaseUrl, redisUrl, restate, storage, limits, dir, modelUrl, protocol } = options
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
    APP_URL: front.baseUrl,
    WORKER_URL: front.workerUrl,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    ...storage,
    RESTATE_INGRESS_URL: restate.ingressUrl,
    RESTATE_ADMIN_URL: restate.adminUrl,
    RESTATE_IDENTITY_KEY: restate.identityKey,
    KEY_PEPPERS: `1:${secret()}`,
    SIGNING_KEYS: `1:${secret()}`,
    ENCRYPTION_KEYS: `1:${secret()}`,
    RECEIPT_KEYS: `1:${secret()}`,
    VAPID_KEYS: `1:${secret()}`,
    STARTING_CREDITS: '10000',
    MODELS: JSON.stringify(scriptedModels(modelUrl, protocol)),
    SANDBOX_DIR: sandboxFolder(dir),
    SANDBOX_CGROUP: `/${cgroupName()}`,
    AUTH_DEV: '1',
    DEV_TOOLS: '1',
    AUTH_PROVIDERS: JSON.stringify([provider]),
    LOG_LEVEL: 'info',
    STOP_GRACE_MS: '0',
    ...(limits === 'off' ? { LIMITS: 'off' } : {}),
  }
}

/** The same script over both wire protocols, at prices that make a small run cost a few Ds. */
function scriptedModels(baseUrl: string, protocol: ModelProtocol) {
  const prices = { inputPricePerMillion: 300, outputPricePerMillion: 1500 }
  const shared = { baseUrl, apiKey: 'scripted', ...prices }
  return [
    { id: 'scripted', provider: 'anthropic', default: protocol === 'anthropic', ...shared },
    { id: 'scripted-openai', provider: 'openai-compatible', default: protocol === 'openai', ...shared },
  ]
}

/** Sandboxes run as users of their own, who must be able to pass through it. */
function sandboxFolder(dir: string): string {
  const sandboxes = join(dir, 'sandboxes')
  mkdirSync(sandboxes, { recursive: true, mode: 0o711 })
  return sandboxes
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
