import { randomInt } from 'node:crypto'
import { createServer, type ListenOptions, type Server } from 'node:net'

export type ClaimedPort = { port: number; release: () => void }

export class PortTakenError extends Error {
  override name = 'PortTakenError'
}

// Outgoing connections take their local ports from 32768 upwards, so a listener up there can lose its port
// to a stranger's connection while it is being restarted.
const lowestPort = 20_000
const highestPort = 32_000
const picks = 200
const startAttempts = 4

/**
 * Picks a port that nobody listens on and keeps it for this process until released. The keeping is a socket
 * in Linux's abstract namespace: other stacks on the machine see it, it covers the moments in which a killed
 * child does not hold its port, and the kernel drops it when this process dies.
 */
export async function claimPort(): Promise<ClaimedPort> {
  for (let pick = 0; pick < picks; pick++) {
    const port = randomInt(lowestPort, highestPort)
    const claim = await claimByName(port)
    if (!claim) continue
    if (await isFree(port)) return { port, release: () => void claim.close() }
    claim.close()
  }
  throw new Error(`found no free port between ${lowestPort} and ${highestPort} in ${picks} tries`)
}

export async function claimPorts(count: number): Promise<ClaimedPort[]> {
  const claims: ClaimedPort[] = []
  while (claims.length < count) claims.push(await claimPort())
  return claims
}

/** A free port can be lost between the look at it and the child's own bind; then another one is as good. */
export async function retryOnTakenPort<T>(start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start()
    } catch (error) {
      if (!(error instanceof PortTakenError) || attempt === startAttempts) throw error
    }
  }
}

async function claimByName(port: number): Promise<Server | undefined> {
  const server = createServer()
  server.unref()
  if (process.platform !== 'linux') return server
  return (await listens(server, { path: `\0guildhall-stack-port-${port}` })) ? server : undefined
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  if (!(await listens(server, { port, host: '127.0.0.1' }))) return false
  await new Promise((resolve) => server.close(resolve))
  return true
}

function listens(server: Server, at: ListenOptions): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(at, () => resolve(true))
  })
}
