import { join } from 'node:path'
import { buildApp, isAppStale } from './app.ts'
import { bundled } from './bundled.ts'
import { describeEnding } from './child.ts'
import { logFileOf, makeFolder, type PartOptions } from './folder.ts'
import { startModelEndpoint } from './model-endpoint/start.ts'
import { PortTakenError, retryOnTakenPort } from './ports.ts'
import { startPostgres } from './postgres.ts'
import { startRedis } from './redis.ts'
import { startRestate } from './restate.ts'
import { startFront, startRoles } from './roles.ts'
import { pidsOf, type Running, recordPids, type StackPids, stopAll, stopRoles } from './running.ts'
import { type ModelProtocol, roleSettings, storageSettings } from './settings.ts'
import { baseEnv, repositoryRoot, runToEnd } from './spawn.ts'
import { StartError } from './start-error.ts'
import { startSwift } from './swift.ts'
import { together } from './together.ts'

type EntryPoints = { api: string; worker: string; migrate: string }

export type StackOptions = {
  /** By which name the deployment is reached on this machine. */
  host?: string
  api?: number
  workers?: number
  restart?: boolean
  limits?: 'on' | 'off'
  /** Whether blobs are kept in a Swift, over its S3 interface, and not in the stack's folder. */
  s3?: boolean
  /** What executions speak to the scripted model. */
  protocol?: ModelProtocol
  /** Added to the environment of the API and worker processes. */
  env?: Record<string, string>
  entryPoints?: EntryPoints
  /** Ends a start that is under way; the promise then rejects when everything is cleaned up. */
  signal?: AbortSignal
  say?: (line: string) => void
}

export type StackAddresses = {
  /** The address in front of all API processes. */
  baseUrl: string
  apiUrls: string[]
  streamUrl: string
  identityUrl: string
  /** The scripted model, for both wire protocols. */
  modelUrl: string
  databaseUrl: string
  redisUrl: string
  restateIngressUrl: string
  restateAdminUrl: string
  dir: string
}

export type Stack = StackAddresses & {
  /** What the API and worker processes were started with, apart from their own ports. */
  env: Record<string, string>
  pids: () => StackPids
  stop: () => Promise<void>
}

type Settled = Required<Omit<StackOptions, 'signal'>> & { part: PartOptions }

const server = join(repositoryRoot, 'packages', 'server', 'src')
const ownEntryPoints: EntryPoints = {
  api: join(server, 'main.ts'),
  worker: join(server, 'worker.ts'),
  migrate: join(server, 'migrate.ts'),
}

/** Who has Node load something beforehand may want to change single modules, and in a bundle there are none. */
function chooseEntryPoints(env: StackOptions['env']): EntryPoints {
  if (env?.['NODE_OPTIONS']) return ownEntryPoints
  const { api, worker, migrate } = ownEntryPoints
  return { api: bundled(api), worker: bundled(worker), migrate: bundled(migrate) }
}

/** Starts a whole deployment in a folder of its own. When it fails or is aborted it leaves nothing behind. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const { signal, say = () => {}, restart = true } = options
  signal?.throwIfAborted()
  const running: Running = { dir: await makeFolder(), api: [], worker: [], folderIsGone: false }
  const onChange = (note?: string) => {
    if (note) say(note)
    recordPids(running)
  }
  const settled: Settled = {
    host: options.host ?? '127.0.0.1',
    api: options.api ?? 1,
    workers: options.workers ?? 1,
    limits: options.limits ?? 'on',
    s3: options.s3 ?? false,
    protocol: options.protocol ?? 'anthropic',
    env: options.env ?? {},
    entryPoints: options.entryPoints ?? chooseEntryPoints(options.env),
    restart,
    say,
    part: { dir: running.dir, restart, onChange, signal },
  }
  let stopping: Promise<void> | undefined
  const stop = () => {
    stopping ??= stopAll(running)
    return stopping
  }
  try {
    await startParts(running, settled)
    const addresses = await retryOnTakenPort(() => startRolesOnce(running, settled))
    recordPids(running)
    return { ...addresses, pids: () => pidsOf(running), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Everything that needs nothing else starts at once; PostgreSQL is the slowest of them. */
async function startParts(running: Running, options: Settled): Promise<void> {
  const { say, part } = options
  await together(part.signal, (signal) => [
    timed(say, 'PostgreSQL', async () => {
      running.postgres = await startPostgres({ ...part, signal })
      return running.postgres
    }).then(({ url }) => timed(say, 'migration', () => migrate(url, options, signal))),
    timed(say, 'Restate', async () => {
      running.restate = await startRestate({ ...part, signal })
    }),
    timed(say, 'Redis', async () => {
      running.redis = await startRedis({ ...part, signal })
    }),
    timed(say, 'scripted model', async () => {
      running.models = await startModelEndpoint({ ...part, signal })
    }),
    ...(options.s3 ? [timed(say, 'Swift', () => startStorage(running, { ...part, signal }))] : []),
    ...(isAppStale() ? [timed(say, 'build of the app', () => buildApp(part.dir, signal))] : []),
    timed(say, 'identity provider', async () => {
      running.front = await startFront({
        ...part,
        signal,
        host: options.host,
        api: options.api,
        workers: options.workers,
      })
    }),
  ])
}

async function startStorage(running: Running, part: PartOptions): Promise<void> {
  running.swift = await startSwift(part)
}

async function migrate(databaseUrl: string, options: Settled, signal: AbortSignal): Promise<void> {
  const { dir } = options.part
  const logFile = logFileOf(dir, 'migrate')
  const settings = { NODE_ENV: 'development', LOG_LEVEL: 'info', DATABASE_URL: databaseUrl }
  const env = { ...baseEnv(dir), ...settings, ...options.env }
  const args = [options.entryPoints.migrate]
  const ending = await runToEnd({ program: process.execPath, args, env, logFile }, signal)
  if (ending.code !== 0) throw new StartError(`The migration ${describeEnding(ending)}.`, { logFile })
}

async function startRolesOnce(running: Running, options: Settled) {
  const { part, say, host, api, workers, limits, protocol, entryPoints } = options
  const { postgres, redis, restate, models } = running
  if (!postgres || !redis || !restate || !models) throw new Error('the roles start after the parts they need')
  running.front ??= await startFront({ ...part, host, api, workers })
  const { front } = running
  const urls = { databaseUrl: postgres.url, redisUrl: redis.url }
  const storage = storageSettings(running.dir, running.swift)
  const env = {
    ...roleSettings({
      ...urls,
      front,
      restate,
      storage,
      limits,
      dir: running.dir,
      modelUrl: models.url,
      protocol,
    }),
    ...options.env,
  }
  try {
    await timed(say, `${api} API and ${workers} worker processes`, () =>
      startRoles({ ...part, front, entryPoints, env, onProcess: (role, child) => running[role].push(child) }),
    )
  } catch (error) {
    // Both sides are told the other's address, so one lost port means new addresses for all.
    if (error instanceof PortTakenError) await stopRoles(running)
    throw error
  }
  return {
    ...urls,
    baseUrl: front.baseUrl,
    apiUrls: front.apiPorts.map((port) => `http://127.0.0.1:${port}`),
    streamUrl: front.baseUrl,
    identityUrl: front.identity.url,
    modelUrl: models.url,
    restateIngressUrl: restate.ingressUrl,
    restateAdminUrl: restate.adminUrl,
    dir: running.dir,
    env,
  }
}

async function timed<T>(say: (line: string) => void, title: string, start: () => Promise<T>): Promise<T> {
  const began = performance.now()
  say(`starting ${title}`)
  const started = await start()
  say(`${title} ready after ${((performance.now() - began) / 1000).toFixed(1)} s`)
  return started
}
