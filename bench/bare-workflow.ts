import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { createEndpointHandler, type WorkflowContext, workflow } from '@restatedev/restate-sdk'
import { sayReady } from './program.ts'

/**
 * The yardstick: three steps as a workflow that somebody wrote by hand, with nothing recorded but by the engine; it
 * checks who calls it, as every worker must.
 */
const echo = async (input: unknown) => input
const bare = workflow({
  name: 'BareLine',
  handlers: {
    run: async (ctx: WorkflowContext, input: unknown): Promise<unknown> => {
      let value = input
      for (const step of ['s1', 's2', 's3']) {
        const given = value
        value = await ctx.run(step, () => echo(given))
      }
      return value
    },
  },
  options: { workflowRetention: 600_000, journalRetention: 0 },
})
const identityKeys = [process.env['RESTATE_IDENTITY_KEY'] ?? '']
const server = createServer(createEndpointHandler({ services: [bare], identityKeys, logger: () => {} }))
server.listen(0, '127.0.0.1', () => sayReady((server.address() as AddressInfo).port))
