import { randomBytes } from 'node:crypto'
import { type Balancer, startBalancer } from './balancer.ts'
import { type Child, type Probe, startChild } from './child.ts'
import { logFileOf, type PartOptions } from './folder.ts'
import { type IdentityProvider, startIdentity } from './identity.ts'
import { type ClaimedPort, claimPorts } from './ports.ts'
import { acceptsConnections, httpGet } from './probes.ts'
import { baseEnv } from './spawn.ts'
import { logTail, NotReadyError, StartError } from './start-error.ts'
import { together } from './together.ts'

/** The addresses of the API and worker processes, fixed before the processes exist: each side is told of the other. */
export type Front = {
  baseUrl: string
  workerUrl: string
  apiPorts: number[]
  workerPorts: number[]
  identity: IdentityProvider
  client: { id: string; secret: string }
  closeBalancers: () => Promise<void>
  release: () => void
}

type Role = 'api' | 'worker'

type FrontOptions = PartOptions & { host: string; api: number; workers: number }

type RolesOptions = PartOptions & {
  front: Front
  entryPoints: Record<Role, string>
  env: Record<string, string>
  /** Told of each process as soon as it runs, so that whoever ends a failed start knows it. */
  onProcess: (role: Role, child: Child) => unknown
}

export async function startFront(options: FrontOptions): Promise<Front> {
  const claims: ClaimedPort[] = []
  const balancers: Balancer[] = []
  const closeBalancers = async () => void (await Promise.all(balancers.map((balancer) => balancer.close())))
  const release = () => {
    for (const claim of claims) claim.release()
  }

  async function address(count: number): Promise<{ url: string; ports: number[] }> {
    const claimed = await claimPorts(count)
    claims.push(...claimed)
    const ports = claimed.map(({ port }) => port)
    if (count === 1) return { url: `http://127.0.0.1:${ports[0]}`, ports }
    const balancer = await startBalancer(ports)
    balancers.push(balancer)
    return { url: balancer.url, ports }
  }

  try {
    const api = await address(options.api)
    const worker = await address(options.workers)
    const client = { id: 'guildhall', secret: randomBytes(32).toString('base64url') }
    const baseUrl = api.url.replace('127.0.0.1', options.host)
    const redirectUri = `${baseUrl}/api/v1/auth/callback`
    const identity = await startIdentity({
      ...options,
      clientId: client.id,
      clientSecret: client.secret,
      redirectUri,
    })
    const urls = { baseUrl, workerUrl: worker.url }
    return {
      ...urls,
      apiPorts: api.ports,
      workerPorts: worker.ports,
      identity,
      client,
      closeBalancers,
      release,
    }
  } catch (error) {
    await closeBalancers()
    release()
    throw error
  }
}

/** Starts every API and worker process and waits until all of them are ready. */
export async function startRoles(options: RolesOptions): Promise<void> {
  const { front, entryPoints } = options
  const waiting = new Set<Child>()

  async function start(
    role: Role,
    index: number,
    env: Record<string, string>,
    probe: Probe,
    signal: AbortSignal,
  ) {
    const name = `${role}-${index + 1}`
    const child = startChild({
      name,
      program: process.execPath,
      args: [entryPoints[role]],
      env: { ...baseEnv(options.dir), ...env, ...options.env },
      logFile: logFileOf(options.dir, name),
      restart: options.restart ?? true,
      onChange: options.onChange,
    })
    options.onProcess(role, child)
    waiting.add(child)
    await child.ready(probe, signal)
    waiting.delete(child)
  }

  try {
    await together(options.signal, (signal) => [
      ...front.workerPorts.map((port, index) =>
        start('worker', index, { WORKER_PORT: String(port) }, () => acceptsConnections(port), signal),
      ),
      ...front.apiPorts.map((port, index) =>
        start('api', index, { PORT: String(port) }, () => readiness(port), signal),
      ),
    ])
  } catch (error) {
    if (!(error instanceof NotReadyError)) throw error
    const others = [...waiting].filter((child) => !error.message.startsWith(`${child.name} `))
    const tails = others.map((child) => `${child.name} is not ready either.\n${logTail(child.logFile)}`)
    throw new StartError([error.message, ...tails].join('\n'), { cause: error })
  }
}

async function readiness(port: number): Promise<true | string> {
  const url = `http://127.0.0.1:${port}/readyz`
  const answer = await httpGet(url)
  if (!answer) return `${url} does not answer`
  if (answer.status === 200 && statusIn(answer.body) === 'ok') return true
  return `${url} answers ${answer.status} ${answer.body}`
}

function statusIn(body: string): unknown {
  try {
    return JSON.parse(body)?.status
  } catch {
    return undefined
  }
}
