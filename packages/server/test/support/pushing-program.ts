import { openDeps } from '#open-deps.ts'
import { readConfig } from '#platform/config.ts'
import { createLogger } from '#platform/logger.ts'
import { createWork } from '#work.ts'

/** A worker without an engine and without sandboxes: tells browsers until it is killed. */
const deps = await openDeps(readConfig(process.env), createLogger('fatal'), new AbortController().signal)
createWork(deps).start()
process.send?.('ready')
process.once('disconnect', () => process.exit())
