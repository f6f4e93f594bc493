import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Another engine that does the same, as its own clients use it. */
export interface Peer {
  /** Runs the line of three steps under this name, and waits for its end. */
  run(id: string, input: object): Promise<void>
  close(): Promise<void>
}

/**
 * Peers have an install of their own, because they bring more packages than the service. What they export is loaded by
 * its address, so that nothing here needs them to be checked.
 */
export async function connectDbos(databaseUrl: string): Promise<Peer> {
  const folder = join(import.meta.dirname, 'peers')
  if (!existsSync(join(folder, 'node_modules')))
    throw new Error('The engines to compare with are not installed: run "npm run peers" first')
  const peer = (await import(join(folder, 'dbos-client.ts'))) as {
    connect(databaseUrl: string): Promise<Peer>
  }
  return peer.connect(databaseUrl)
}
