import { createApp } from './app.ts'
import { offerShippedCatalog } from './catalog/catalog.ts'
import { closeDeps, openDeps } from './deps.ts'
import { onStopSignal } from './platform/shutdown.ts'
import { startSweeps, startTending } from './platform/sweep.ts'
import { startProcess } from './start.ts'

/** The API role: REST, and later streams, OAuth and MCP. Any number of these may run. */
const { config, logger } = await startProcess()
/** Those who come back all at once, when another process is gone, wait in line instead of trying again by the second. */
const backlog = 4096
const stopping = new AbortController()
const deps = await openDeps(config, logger, stopping.signal)
const { server, sweeps, tending } = createApp(deps)
const sweeping = startSweeps(deps, sweeps)
const tended = startTending(deps, tending)
await deps.redis.settle()
await offerShippedCatalog(deps)
await server.listen({ host: config.host, port: config.port, backlog })
logger.info({ address: server.addresses()[0], publicUrl: config.publicUrl }, 'API ready to serve')

onStopSignal(logger, stopping, async () => {
  // Not ready any more, yet still serving: balancers need a moment to look elsewhere.
  await new Promise((resolve) => setTimeout(resolve, config.stopGraceMs))
  await server.close()
  sweeping.stop()
  tended.stop()
  await closeDeps(deps)
})
