import type { AddressInfo } from 'node:net'
import { createApp } from '../packages/server/src/app.ts'
import { openDeps } from '../packages/server/src/open-deps.ts'
import { readConfig } from '../packages/server/src/platform/config.ts'
import { createLogger } from '../packages/server/src/platform/logger.ts'
import { cpuMicros, memoryNow } from './event-parts.ts'
import { sayReady } from './program.ts'

/** A process of the API as it is, with nothing beside it that looks around. */
const config = readConfig(process.env)
const deps = await openDeps(config, createLogger(config.logLevel), new AbortController().signal)
const { server } = createApp(deps)
await deps.redis.settle()
const port = Number(process.env['BENCH_PORT'] ?? 0)
await server.listen({ host: '127.0.0.1', port, backlog: 4096 })
process.on('message', () => process.send?.({ ...memoryNow(), cpuMicros: cpuMicros() }))
sayReady((server.server.address() as AddressInfo).port)
