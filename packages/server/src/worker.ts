import { keepRegistered, listenForEngine } from '#machinery/engine/endpoint.ts'
import { startReconcilers } from '#platform/reconcile.ts'
import { onStopSignal } from '#platform/shutdown.ts'
import { startSweeps } from '#platform/sweep.ts'
import { closeDeps, openDeps } from './open-deps.ts'
import { startProcess } from './start.ts'
import { createWork } from './work.ts'

/** The worker role: what the durable engine calls. Any number of these may stand behind one address. */
const { config, logger } = await startProcess()
const stopping = new AbortController()
const deps = await openDeps(config, logger, stopping.signal)
const work = createWork(deps)
try {
  await work.check()
} catch (error) {
  logger.fatal({ err: error }, 'skills cannot be run safely on this host')
  process.exit(4)
}
work.start()
void work.tidy()
const reconciling = startReconcilers(deps, work.reconcilers)
const sweeping = startSweeps(deps, work.sweeps)
const endpoint = await listenForEngine(config, logger, work.engineWork)
logger.info({ port: endpoint.port }, 'worker ready for the engine')

onStopSignal(logger, stopping, async () => {
  // No new work from here on; what runs is waited for, so that a deploy fails no run.
  const closed = endpoint.close()
  await work.drain()
  await closed
  reconciling.stop()
  sweeping.stop()
  await closeDeps(deps)
})
await keepRegistered(config, logger, stopping.signal)
