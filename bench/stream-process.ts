import type { AddressInfo } from 'node:net'
import { findLiveSessions } from '../packages/server/src/accounts/sessions/sessions.ts'
import { openDeps } from '../packages/server/src/open-deps.ts'
import { toOperations } from '../packages/server/src/operations/operation.ts'
import { Bus } from '../packages/server/src/platform/bus.ts'
import { readConfig } from '../packages/server/src/platform/config.ts'
import { createLogger } from '../packages/server/src/platform/logger.ts'
import { executionStreamHandlers } from '../packages/server/src/running/executions/routes.ts'
import { ExecutionStreams } from '../packages/server/src/running/executions/stream.ts'
import { Streams } from '../packages/server/src/streams/streams.ts'
import { createServer } from '../packages/server/src/transports/http/server.ts'
import { Sockets } from '../packages/server/src/transports/sockets/sockets.ts'
import { cpuMicros, memoryNow } from './event-parts.ts'
import { sayReady } from './program.ts'

/** A process that only streams: the real edge, admission, log and credentials, and no other route. */
const config = readConfig(process.env)
const deps = await openDeps(config, createLogger(config.logLevel), new AbortController().signal)
const bus = new Bus(deps)
const sockets = new Sockets(deps, bus, {
  key: async () => [],
  oauth: async () => [],
  session: (asked) => findLiveSessions(deps.database, asked),
})
const nobody = () => Promise.reject(new Error('no credential is read here'))
const server = createServer({
  deps,
  socketDoor: sockets.door,
  authenticators: { key: nobody, session: nobody, oauth: nobody, enterWorkspace: nobody },
  grants: {} as never,
  operations: toOperations(
    executionStreamHandlers(new ExecutionStreams(deps, new Streams({ ...deps, sockets }))),
    bus,
  ),
})
await deps.redis.settle()
await server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 })
process.on('message', () => process.send?.({ ...memoryNow(), cpuMicros: cpuMicros() }))
sayReady((server.server.address() as AddressInfo).port)
