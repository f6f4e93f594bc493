import { closeDeps, openDeps } from './deps.ts'
import { keepRegistered, listenForEngine } from './engine/endpoint.ts'
import { onStopSignal } from './platform/shutdown.ts'
import { startSweeps, startTending } from './platform/sweep.ts'
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
const tending = startTending(deps, work.tending)
const sweeping = startSweeps(deps, work.sweeps)
const endpoint = await listenForEngine(config, logger, work.engineWork)
logger.info({ port: endpoint.port }, 'worker ready for the engine')

onStopSignal(logger, stopping, async () => {
  // No new work from here on; what runs is waited for, so that a deploy fails no run.
  const closed = endpoint.close()
  await work.drain()
  await closed
  tending.stop()
  sweeping.stop()
  await closeDeps(deps)
})
await keepRegistered(config, logger, stopping.signal)
