import { type Balancer, startBalancer } from './balancer.ts'
import type { PartOptions } from './folder.ts'
import { claimPorts, retryOnTakenPort } from './ports.ts'
import { createRequestIdentity } from './request-identity.ts'
import type { RestateServer } from './restate.ts'
import { type NodePorts, type RestateNode, startRestateNode } from './restate-node.ts'
import { together } from './together.ts'

/** Its addresses stand in front of all nodes and pass by those that are gone. */
export type RestateCluster = Omit<RestateServer, 'pid'> & { pids: () => (number | null)[] }

const nodeCount = 3

/** Three servers that keep everything twice, so that any one of them can be lost for good. */
export function startRestateCluster(options: PartOptions): Promise<RestateCluster> {
  return retryOnTakenPort(() => startOnce(options))
}

async function startOnce(options: PartOptions): Promise<RestateCluster> {
  const identity = createRequestIdentity()
  const claims = await claimPorts(nodeCount * 3)
  const ports = Array.from({ length: nodeCount }, (_, index): NodePorts => {
    const [node = 0, ingress = 0, admin = 0] = claims.slice(index * 3).map(({ port }) => port)
    return { node, ingress, admin }
  })
  const nodes: RestateNode[] = []
  const balancers: Balancer[] = []
  const stop = async () => {
    await Promise.all([...balancers.map(({ close }) => close()), ...nodes.map((node) => node.stop())])
    for (const claim of claims) claim.release()
  }
  try {
    await together(options.signal, (signal) =>
      ports.map(async (own, index) => {
        const part = { ...options, signal, name: `restate-${index + 1}`, ports: own }
        nodes[index] = await startRestateNode({
          ...part,
          identityPem: identity.privateKeyPem,
          settings: clusterSettings(index === 0),
          tables: clusterTables(ports),
        })
      }),
    )
    const ingress = await startBalancer(ports.map((own) => own.ingress))
    balancers.push(ingress)
    const admin = await startBalancer(ports.map((own) => own.admin))
    balancers.push(admin)
    const urls = { ingressUrl: ingress.url, adminUrl: admin.url }
    return { ...urls, identityKey: identity.publicKey, pids: () => nodes.map((node) => node.pid()), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** One node makes the cluster, the others join it. Partitions enough that every node leads some. */
function clusterSettings(isFirst: boolean): string {
  return `
auto-provision = ${isFirst}
default-replication = 2
default-num-partitions = 6`
}

function clusterTables(ports: readonly NodePorts[]): string {
  const addresses = ports.map(({ node }) => `http://127.0.0.1:${node}`)
  return `
[metadata-client]
addresses = ${JSON.stringify(addresses)}

[bifrost]
default-provider = "replicated"`
}
