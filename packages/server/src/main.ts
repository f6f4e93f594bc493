import { offerShippedCatalog } from '#library/catalog/catalog.ts'
import { startReconcilers } from '#platform/reconcile.ts'
import { onStopSignal } from '#platform/shutdown.ts'
import { startSweeps } from '#platform/sweep.ts'
import { openDoors } from '#transports/http/doors.ts'
import { createApp } from './app.ts'
import { closeDeps, openDeps } from './open-deps.ts'
import { startProcess } from './start.ts'

/** The API role: REST, streams, sockets and OAuth. Any number of these may run. */
const { config, logger } = await startProcess()
/** Those who come back all at once, when another process is gone, wait in line instead of trying again by the second. */
const backlog = 4096
const stopping = new AbortController()
const deps = await openDeps(config, logger, stopping.signal)
const { server, sweeps, reconcilers } = createApp(deps)
const sweeping = startSweeps(deps, sweeps)
const reconciling = startReconcilers(deps, reconcilers)
await deps.redis.settle()
await offerShippedCatalog(deps)
const closeDoors = await openDoors(server, { host: config.host, port: config.port, backlog })
logger.info({ address: server.addresses()[0], publicUrl: config.publicUrl }, 'API ready to serve')

onStopSignal(logger, stopping, async () => {
  // Not ready any more, yet still serving: balancers need a moment to look elsewhere.
  await new Promise((resolve) => setTimeout(resolve, config.stopGraceMs))
  await closeDoors()
  sweeping.stop()
  reconciling.stop()
  await closeDeps(deps)
})
