import type { PartOptions } from './folder.ts'
import { claimPorts, retryOnTakenPort } from './ports.ts'
import { createRequestIdentity } from './request-identity.ts'
import { type RestateNode, startRestateNode } from './restate-node.ts'

export type RestateServer = RestateNode & {
  /** The public key that a worker checks the server's calls with. */
  identityKey: string
}

export function startRestate(options: PartOptions): Promise<RestateServer> {
  return retryOnTakenPort(() => startOnce(options))
}

async function startOnce(options: PartOptions): Promise<RestateServer> {
  const identity = createRequestIdentity()
  const claims = await claimPorts(3)
  const [node = 0, ingress = 0, admin = 0] = claims.map(({ port }) => port)
  const release = () => {
    for (const claim of claims) claim.release()
  }
  try {
    const server = await startRestateNode({
      ...options,
      name: 'restate',
      ports: { node, ingress, admin },
      identityPem: identity.privateKeyPem,
      // Partitions are fixed when the cluster is made; few of them are fastest on a small machine.
      settings: 'default-num-partitions = 4',
    })
    const stop = () => server.stop().finally(release)
    return { ...server, identityKey: identity.publicKey, stop }
  } catch (error) {
    release()
    throw error
  }
}
