import { readRepositoryInput, syncRepository, syncShippedCatalog } from '#library/catalog/catalog.ts'
import { closeDeps, openDeps } from './open-deps.ts'
import { startProcess } from './start.ts'

/**
 * Brings repositories of skills into the catalog: those named as arguments, or else the shipped skills and everything
 * in CATALOG_SOURCES. One that fails does not keep the others out.
 */
const { config, logger } = await startProcess()
const stopping = new AbortController()
process.once('SIGINT', () => stopping.abort())
process.once('SIGTERM', () => stopping.abort())
const deps = await openDeps(config, logger, stopping.signal)

const named = process.argv.slice(2)
const repositories = named.length > 0 ? named : config.catalogSources
const jobs = [
  ...(named.length > 0 ? [] : [{ name: 'the shipped skills', run: () => syncShippedCatalog(deps) }]),
  ...repositories.map((name) => ({
    name,
    run: () => syncRepository(deps, readRepositoryInput(name), stopping.signal),
  })),
]
for (const { name, run } of jobs) {
  try {
    logger.info(await run(), `synced ${name}`)
  } catch (error) {
    logger.error({ err: error }, `${name} could not be synced; the catalog keeps what it had of it`)
    process.exitCode = 1
  }
}
await closeDeps(deps)
