import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2'
import { setTimeout } from 'node:timers/promises'
import { createEndpointHandler } from '@restatedev/restate-sdk'
import type { Config } from '#platform/config.ts'
import type { ExecutionCall } from '#platform/engine-client.ts'
import type { Logger } from '#platform/logger.ts'
import type { RunRecords, StepWork } from './drive.ts'
import { createExecutionService } from './execution-service.ts'
import { heartbeat } from './heartbeat.ts'
import { createStepService } from './step-runner.ts'
import { type CarryThread, createThreadService } from './thread-service.ts'
import { createWorkflowService } from './workflow-run.ts'

/** What the engine can have done here; the features behind it are put in by the worker. */
export interface EngineWork {
  runExecution(call: ExecutionCall): Promise<void>
  readonly carryThread: CarryThread
  readonly runs: RunRecords
  readonly steps: StepWork
}

export interface WorkerEndpoint {
  readonly port: number
  close(): Promise<void>
}

// What the SDK tells of every single call is detail here.
const sdkLevels = { trace: 'trace', debug: 'trace', info: 'debug', warn: 'warn', error: 'error' } as const

/** Serves the handlers that the engine calls; a request that the engine did not sign is answered 401. */
export async function listenForEngine(
  config: Config,
  logger: Logger,
  work: EngineWork,
): Promise<WorkerEndpoint> {
  const handler = createEndpointHandler({
    services: [
      heartbeat,
      createExecutionService(work.runExecution),
      createThreadService(work.carryThread),
      createWorkflowService(work.runs),
      createStepService(work.steps),
    ],
    identityKeys: [config.restateIdentityKey],
    logger: (meta, message, ...rest) =>
      logger[sdkLevels[meta.level]](
        { invocation: meta.context?.invocationId },
        [message, ...rest].map(String).join(' '),
      ),
  })
  const server = createServer(handler)
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    session.on('error', () => {})
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(config.workerPort, config.host, resolve)
  })
  return {
    port: portOf(server),
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      // Says GOAWAY: what is under way finishes, new calls go to another worker.
      for (const session of sessions) session.close()
      await closed
    },
  }
}

function portOf(server: Http2Server): number {
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}

/** All that `listenForEngine` serves. */
const serviceNames = ['Heartbeat', 'ExecutionRunner', 'Thread', 'WorkflowRun', 'StepRunner']
const tryAgainMs = 500
const lookAgainMs = 10_000

/**
 * Sees to it that the engine knows where the workers are: engine and workers may start in any order, and an
 * engine that lost its data has forgotten.
 */
export async function keepRegistered(config: Config, logger: Logger, signal: AbortSignal): Promise<void> {
  for (let failures = 0; !signal.aborted; ) {
    try {
      const registered = await findRegistered(config, signal)
      // Of the version before, it does not know everything that is served here.
      const isWhole = serviceNames.every((name) => registered?.includes(name))
      if (!isWhole) await register(config, logger, signal, registered !== undefined)
      failures = 0
    } catch (error) {
      if (signal.aborted) return
      if (failures++ % 20 === 0)
        logger.warn({ err: error }, 'not registered with the engine yet; trying again')
    }
    // Ends early when the process stops, so that nothing keeps it alive.
    await setTimeout(failures > 0 ? tryAgainMs : lookAgainMs, undefined, { signal, ref: false }).catch(
      () => {},
    )
  }
}

interface Deployment {
  readonly uri?: string
  readonly services?: readonly { readonly name: string }[]
}

/** What the engine knows to be served at the workers' address; undefined when it does not know the address. */
async function findRegistered(config: Config, signal: AbortSignal): Promise<string[] | undefined> {
  const response = await askAdmin(config, signal, {})
  const { deployments } = (await response.json()) as { deployments: Deployment[] }
  const own = deployments.find(({ uri }) => uri?.replace(/\/$/, '') === config.workerUrl)
  return own && (own.services ?? []).map(({ name }) => name)
}

async function register(config: Config, logger: Logger, signal: AbortSignal, force: boolean): Promise<void> {
  await askAdmin(config, signal, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uri: config.workerUrl, force }),
  })
  logger.info({ workerUrl: config.workerUrl }, 'registered with the engine')
}

async function askAdmin(config: Config, signal: AbortSignal, options: RequestInit): Promise<Response> {
  const response = await fetch(`${config.restateAdminUrl}/deployments`, {
    ...options,
    signal: AbortSignal.any([signal, AbortSignal.timeout(5000)]),
  })
  if (response.ok) return response
  throw new Error(`the engine answered ${response.status}: ${(await response.text()).slice(0, 500)}`)
}
