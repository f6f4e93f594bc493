import { DBOS } from '@dbos-inc/dbos-sdk'
import { sayReady } from '../program.ts'

/** The peer: the same three steps as a workflow of DBOS, taken from its queue. */
const echo = async (input: unknown) => input
DBOS.registerWorkflow(
  async (input: unknown) => {
    let value = input
    for (const name of ['s1', 's2', 's3']) {
      const given = value
      value = await DBOS.runStep(() => echo(given), { name })
    }
    return value
  },
  { name: 'Line' },
)
DBOS.setConfig({
  name: 'bench',
  systemDatabaseUrl: process.env['DBOS_URL'] ?? '',
  applicationVersion: '1',
  systemDatabasePoolSize: 20,
  runAdminServer: false,
  logLevel: 'warn',
})
await DBOS.launch()
// As many at a time and as often as it does best with on two cores; its own default looks once a second.
await DBOS.registerQueue('lines', { workerConcurrency: 200, minPollingIntervalMs: 100 })
sayReady()
