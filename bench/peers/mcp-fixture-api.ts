import { createApp } from '../../packages/server/src/app.ts'
import { closeDeps, openDeps } from '../../packages/server/src/open-deps.ts'
import { onStopSignal } from '../../packages/server/src/platform/shutdown.ts'
import { startProcess } from '../../packages/server/src/start.ts'
import { fixtureCatalogue } from './mcp-fixture.ts'

/** An API process as it is, but for what it offers over MCP. */
const { config, logger } = await startProcess()
const stopping = new AbortController()
const deps = await openDeps(config, logger, stopping.signal)
const { server } = createApp(deps, { mcpCatalogue: fixtureCatalogue })
await deps.redis.settle()
await server.listen({ host: config.host, port: config.port })
onStopSignal(logger, stopping, async () => {
  await server.close()
  await closeDeps(deps)
})
