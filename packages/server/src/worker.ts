import { keepRegistered, listenForEngine } from './engine/endpoint.ts'
import { onStopSignal } from './platform/shutdown.ts'
import { startProcess } from './start.ts'

/** The worker role: what the durable engine calls. Any number of these may stand behind one address. */
const { config, logger } = await startProcess()
const stopping = new AbortController()
const endpoint = await listenForEngine(config, logger)
logger.info({ port: endpoint.port }, 'worker ready for the engine')

onStopSignal(logger, stopping, () => endpoint.close())
await keepRegistered(config, logger, stopping.signal)
