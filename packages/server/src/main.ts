import { createApp } from './app.ts'
import type { Deps } from './deps.ts'
import { createEngineClient } from './engine/client.ts'
import { Database } from './platform/database.ts'
import { createMetrics } from './platform/metrics.ts'
import { RateWindows } from './platform/rate-window.ts'
import { RedisLink } from './platform/redis.ts'
import { onStopSignal } from './platform/shutdown.ts'
import { startSweeps } from './platform/sweep.ts'
import { startTelemetry } from './platform/telemetry.ts'
import { startProcess } from './start.ts'

/** The API role: REST, and later streams, OAuth and MCP. Any number of these may run. */
const { config, logger } = await startProcess()
const telemetry = await startTelemetry(config, 'api')
const stopping = new AbortController()
const metrics = createMetrics()
const database = new Database({ url: config.databaseUrl, poolSize: config.databasePoolSize, logger })
const redis = new RedisLink({ url: config.redisUrl, logger })
const deps: Deps = {
  config,
  logger,
  metrics,
  database,
  redis,
  rateWindows: new RateWindows({ redis, onLocal: () => metrics.localLimiter.inc() }),
  engine: createEngineClient(config.restateIngressUrl),
  telemetry,
  stopping: stopping.signal,
}
const { server, sweeps } = createApp(deps)
const sweeping = startSweeps(deps, sweeps)
await redis.settle()
await server.listen({ host: config.host, port: config.port })
logger.info({ address: server.addresses()[0], publicUrl: config.publicUrl }, 'API ready to serve')

onStopSignal(logger, stopping, async () => {
  // Not ready any more, yet still serving: balancers need a moment to look elsewhere.
  await new Promise((resolve) => setTimeout(resolve, config.stopGraceMs))
  await server.close()
  sweeping.stop()
  redis.close()
  await database.close()
  await telemetry.close()
})
