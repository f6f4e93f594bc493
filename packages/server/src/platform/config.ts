import { fileURLToPath } from 'node:url'
import { limits as defaultLimits, type Limit, type LimitName } from '@guildhall/contract'
import { parseFetchAllow } from './address-rules.ts'
import { type ClientSettings, readClients } from './client-settings.ts'
import { type IdentityProviderConfig, readProviders } from './identity-settings.ts'
import { readLimits } from './limit-settings.ts'
import { type ModelConfig, parseModels } from './model-settings.ts'
import { type PushSettings, readPush } from './push-settings.ts'
import { type QuotaSettings, readQuotas } from './quota-settings.ts'
import { type Attempt, readSandbox, type SandboxSettings } from './sandbox-settings.ts'
import { type KeyRing, parseEd25519Ring, parseKeyRing } from './secrets.ts'
import { readCount, readDs, readHosts, readList, readUrl, sharedOrigin } from './setting-readers.ts'

export interface S3Config {
  kind: 's3'
  endpoint: string
  region: string
  bucket: string
  accessKeyId: string
  secretAccessKey: string
  /** Whether the bucket stands in the path, or else in front of the endpoint's host name. */
  forcePathStyle: boolean
}

export type StorageConfig = { kind: 'directory'; path: string } | S3Config

export interface Config {
  production: boolean
  host: string
  port: number
  /** The address people and agents use; behind a balancer it is the balancer's. */
  publicUrl: string
  /** Where the app's pages are; pairing links point there. */
  appUrl: string
  /** Of the app's pages, where they come from the API's own address: only there a browser can have a session. */
  appOrigin: string | undefined
  /** The folder with the app as it was built; without one the API serves none. */
  appDirectory: string
  appDownloadUrl: string
  databaseUrl: string
  databasePoolSize: number
  redisUrl: string
  storage: StorageConfig
  restateIngressUrl: string
  restateAdminUrl: string
  restateIdentityKey: string
  workerPort: number
  /** The address in front of all workers, which the engine calls. */
  workerUrl: string
  /** Where event streams are read; behind one balancer it is the public address. */
  streamUrl: string
  /** Exact `host:port` that may be fetched from although they are private or without https. */
  fetchAllow: readonly string[]
  fetchAllowCaFile: string | undefined
  /** Exact `host:port` at which apps may describe themselves though they are private. */
  oauthDocumentAllow: readonly string[]
  /** Host names that the tool http-request may call. */
  httpToolAllow: readonly string[]
  /** Whether workflows find the tools that tests are written for. */
  devTools: boolean
  /** How many runs of workflows advance at once in a workspace; more wait. */
  runsPerWorkspace: number
  /** The same for runs of chats. */
  chatRunsPerWorkspace: number
  /** How many chats one worker goes on with at once; what the engine calls it for beyond that waits in line. */
  chatLoops: number
  /** How many streams of one credential a process holds open; beyond that the oldest ends. */
  streamsPerCredential: number
  /** After so many iterations of a loop, or with so many items for a foreach, a run fails. */
  loopIterations: number
  foreachItems: number
  /** A module of the deployment with tools of its own. */
  toolsModule: string | undefined
  quotas: QuotaSettings
  /** How long one expression of the tool transform-json may be computed. */
  transformTimeoutMs: number
  /** The folder with the skills that come with the service. */
  catalogDirectory: string
  /** Repositories that `npm run catalog:sync` brings into the catalog, as `url#ref`. */
  catalogSources: readonly string[]
  /** For the operator's own routes; without it there are none. */
  operatorToken: string | undefined
  startingCreditsMilliDs: number
  defaultMaxCostMilliDs: number
  /** Under which people's own provider keys are stored. */
  encryptionKeys: KeyRing
  models: readonly ModelConfig[]
  sandbox: SandboxSettings
  /** How long the events of ended executions are kept. */
  eventDays: number
  /** How long a stopping worker waits for what it runs. */
  drainMs: number
  keyPeppers: KeyRing
  signingKeys: KeyRing
  /** With which receipts are signed, so that anybody can check them. */
  receiptKeys: KeyRing
  /** Without it no browser is told of what waits. */
  push: PushSettings | undefined
  authDev: boolean
  authProviders: readonly IdentityProviderConfig[]
  /** Where a finished sign-in may return to, besides the app itself and loopback addresses. */
  authRedirects: readonly string[]
  /** Whether OAuth scopes are enforced and every OAuth client must use PKCE. */
  oauthStrict: boolean
  oauthRegistration: boolean
  limits: Readonly<Record<LimitName, Limit>>
  trustedProxies: readonly string[]
  corsOrigins: readonly string[]
  logLevel: string
  metricsToken: string | undefined
  tracesUrl: string | undefined
  /** How long a stopping process still serves while balancers learn that it is going. */
  stopGraceMs: number
  clients: ClientSettings
}

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the whole environment before it complains, so that an operator mends everything in one go. */
export function readConfig(env: Environment): Config {
  const problems: string[] = []
  const attempt: Attempt = <T>(name: string, read: (value: string) => T, fallback?: T): T => {
    const value = env[name]
    if (value === undefined || value === '') {
      if (fallback !== undefined) return fallback
      problems.push(`${name} is not set`)
      return undefined as T
    }
    try {
      return read(value)
    } catch (error) {
      problems.push(`${name}: ${(error as Error).message}`)
      return undefined as T
    }
  }
  const s3 = (): S3Config => ({
    kind: 's3',
    endpoint: attempt('S3_ENDPOINT', readUrl),
    region: attempt('S3_REGION', (v) => v),
    bucket: attempt('S3_BUCKET', (v) => v),
    accessKeyId: attempt('S3_ACCESS_KEY_ID', (v) => v),
    secretAccessKey: attempt('S3_SECRET_ACCESS_KEY', (v) => v),
    forcePathStyle: attempt('S3_FORCE_PATH_STYLE', (v) => v === '1', true),
  })
  const production = env['NODE_ENV'] === 'production'
  const publicUrl = attempt('PUBLIC_URL', readUrl)
  const appUrl = attempt('APP_URL', readUrl, publicUrl)
  const config: Config = {
    production,
    host: attempt('HOST', (v) => v, '127.0.0.1'),
    port: attempt('PORT', readCount, 8080),
    publicUrl,
    appUrl,
    appOrigin: sharedOrigin(publicUrl, appUrl),
    appDirectory: attempt('APP_DIR', (v) => v, shippedApp),
    appDownloadUrl: attempt('APP_DOWNLOAD_URL', readUrl, `${appUrl}/app`),
    databaseUrl: attempt('DATABASE_URL', (v) => v),
    databasePoolSize: attempt('DATABASE_POOL_SIZE', readCount, 20),
    redisUrl: attempt('REDIS_URL', (v) => v),
    storage: attempt('STORAGE', (v) => (v === 's3' ? s3() : readDirectory(v))),
    restateIngressUrl: attempt('RESTATE_INGRESS_URL', readUrl),
    restateAdminUrl: attempt('RESTATE_ADMIN_URL', readUrl),
    restateIdentityKey: attempt('RESTATE_IDENTITY_KEY', (v) => v),
    workerPort: attempt('WORKER_PORT', readCount, 9080),
    workerUrl: attempt('WORKER_URL', readUrl, 'http://127.0.0.1:9080'),
    streamUrl: attempt('STREAM_URL', readUrl, publicUrl),
    fetchAllow: attempt('FETCH_ALLOW', parseFetchAllow, []),
    fetchAllowCaFile: env['FETCH_ALLOW_CA'] || undefined,
    oauthDocumentAllow: attempt('OAUTH_DOCUMENT_ALLOW', parseFetchAllow, []),
    httpToolAllow: attempt('HTTP_TOOL_ALLOW', readHosts, []),
    runsPerWorkspace: attempt('RUNS_PER_WORKSPACE', readCount, 50),
    chatRunsPerWorkspace: attempt('CHAT_RUNS_PER_WORKSPACE', readCount, 10),
    chatLoops: attempt('CHAT_LOOPS', readCount, 64),
    streamsPerCredential: attempt('STREAMS_PER_CREDENTIAL', readCount, 1000),
    loopIterations: attempt('LOOP_ITERATIONS', readCount, 1000),
    foreachItems: attempt('FOREACH_ITEMS', readCount, 1000),
    devTools: attempt('DEV_TOOLS', (v) => v === '1', false),
    toolsModule: env['TOOLS_MODULE'] || undefined,
    quotas: readQuotas(attempt),
    transformTimeoutMs: attempt('TRANSFORM_TIMEOUT_MS', readCount, 2000),
    catalogDirectory: attempt('CATALOG_DIR', (v) => v, shippedCatalog),
    catalogSources: attempt('CATALOG_SOURCES', readList, []),
    operatorToken: env['OPERATOR_TOKEN'] || undefined,
    startingCreditsMilliDs: attempt('STARTING_CREDITS', readDs, 0),
    defaultMaxCostMilliDs: attempt('DEFAULT_MAX_COST', readDs, 500_000),
    encryptionKeys: attempt('ENCRYPTION_KEYS', (v) => parseKeyRing(v)),
    models: attempt('MODELS', parseModels, []),
    sandbox: readSandbox(attempt),
    eventDays: attempt('EVENT_DAYS', readCount, 365),
    drainMs: attempt('DRAIN_SECONDS', readCount, 25) * 1000,
    keyPeppers: attempt('KEY_PEPPERS', (v) => parseKeyRing(v)),
    signingKeys: attempt('SIGNING_KEYS', (v) => parseKeyRing(v)),
    receiptKeys: attempt('RECEIPT_KEYS', parseEd25519Ring),
    push: readPush(attempt, publicUrl),
    authDev: attempt('AUTH_DEV', (v) => v === '1', false),
    authProviders: attempt('AUTH_PROVIDERS', readProviders, []),
    authRedirects: attempt('AUTH_REDIRECTS', readList, []),
    oauthStrict: attempt('OAUTH_STRICT', (v) => v === '1', false),
    oauthRegistration: attempt('OAUTH_REGISTRATION', (v) => v === '1', false),
    limits: attempt('LIMITS', readLimits, defaultLimits),
    trustedProxies: attempt('TRUSTED_PROXIES', readList, []),
    corsOrigins: attempt('CORS_ORIGINS', readList, []),
    logLevel: attempt('LOG_LEVEL', (v) => v, 'info'),
    metricsToken: env['METRICS_TOKEN'] || undefined,
    tracesUrl: env['OTEL_EXPORTER_OTLP_ENDPOINT'] || undefined,
    stopGraceMs: attempt('STOP_GRACE_MS', readCount, 5000),
    clients: readClients(attempt),
  }
  if (production && config.authDev) problems.push('AUTH_DEV must not be set in production')
  if (production && config.devTools) problems.push('DEV_TOOLS must not be set in production')
  if (production && env['LIMITS'] === 'off') problems.push('LIMITS=off is refused in production')
  if (problems.length > 0) throw new Error(`Configuration is incomplete:\n  ${problems.join('\n  ')}`)
  return config
}

const shippedCatalog = fileURLToPath(new URL('../../../../catalog', import.meta.url))

const shippedApp = fileURLToPath(new URL('../../../web/dist', import.meta.url))

function readDirectory(value: string): StorageConfig {
  const path = /^directory:(\/.*)$/.exec(value)?.[1]
  if (path === undefined) throw new Error('must be s3 or directory: with an absolute path')
  return { kind: 'directory', path }
}
