import { DBOSClient } from '@dbos-inc/dbos-sdk'
import type { Peer } from '../peer.ts'

/** How often a client looks whether its run has ended. */
const looksEveryMs = 50

export async function connect(databaseUrl: string): Promise<Peer> {
  const client = await DBOSClient.create({
    systemDatabaseUrl: databaseUrl,
    applicationName: 'bench',
    systemDatabasePoolSize: 20,
  })
  return {
    run: async (workflowID, input) => {
      const handle = await client.enqueue({ queueName: 'lines', workflowName: 'Line', workflowID }, input)
      await handle.getResult({ pollingIntervalMs: looksEveryMs })
    },
    close: () => client.destroy(),
  }
}
