import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2'
import { createEndpointHandler } from '@restatedev/restate-sdk'
import type { Config } from '../platform/config.ts'
import type { Logger } from '../platform/logger.ts'
import { heartbeat } from './heartbeat.ts'

export interface WorkerEndpoint {
  readonly port: number
  close(): Promise<void>
}

/** Serves the handlers that the engine calls; a request that the engine did not sign is answered 401. */
export async function listenForEngine(config: Config, logger: Logger): Promise<WorkerEndpoint> {
  const handler = createEndpointHandler({
    services: [heartbeat],
    identityKeys: [config.restateIdentityKey],
    logger: (meta, message, ...rest) =>
      logger[meta.level === 'trace' ? 'debug' : meta.level](
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

const registerAgainMs = 500

/** Tells the engine where the workers are, as often as it takes: engine and workers may start in any order. */
export async function registerWorkers(config: Config, logger: Logger, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      const response = await fetch(`${config.restateAdminUrl}/deployments`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ uri: config.workerUrl }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(5000)]),
      })
      if (response.ok) return logger.info({ workerUrl: config.workerUrl }, 'registered with the engine')
      throw new Error(`the engine answered ${response.status}: ${(await response.text()).slice(0, 500)}`)
    } catch (error) {
      if (attempt % 10 === 0) logger.warn({ err: error }, 'not registered with the engine yet; trying again')
      await new Promise((resolve) => setTimeout(resolve, registerAgainMs))
    }
  }
}
