import { createHmac, randomBytes } from 'node:crypto'
import { chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { type Child, describeEnding, startChild } from './child.ts'
import { logFileOf, openForTraversal, type PartOptions } from './folder.ts'
import { claimPorts, PortTakenError, retryOnTakenPort } from './ports.ts'
import { acceptsConnections } from './probes.ts'
import { findSwiftPrograms, lentUser, type User } from './programs.ts'
import { baseEnv, runToEnd } from './spawn.ts'
import { readLog, StartError } from './start-error.ts'
import { clusterConfig, device, proxyConfig, storageConfig, storageServers } from './swift-config.ts'
import { together } from './together.ts'

export type SwiftServer = {
  endpoint: string
  region: string
  bucket: string
  accessKeyId: string
  secretAccessKey: string
  /** Of the account, container, object and proxy servers. */
  pids: () => (number | null)[]
  stop: () => Promise<void>
}

type Home = { home: string; data: string; user: User | undefined; programs: string; salt: string }

const region = 'us-east-1'
const bucket = 'guildhall'
const owner = { account: 'guildhall', user: 'stack' }
// Few partitions: the rings of a cluster with one device need not be divisible.
const ringOf = ['create', '4', '1', '1']
const bucketWithinMs = 2000

/** OpenStack Swift with its S3 interface: an object store that is not Amazon's and is strict where that is lax. */
export async function startSwift(options: PartOptions): Promise<SwiftServer> {
  options.signal?.throwIfAborted()
  const programs = findSwiftPrograms()
  const user = lentUser(['swift', 'nobody'], 'Swift')
  const home = join(options.dir, 'swift')
  const data = join(home, 'data')
  await openForTraversal(options.dir)
  mkdirSync(join(data, device), { recursive: true, mode: 0o700 })
  if (user) for (const path of [home, data, join(data, device)]) chownSync(path, user.uid, user.gid)
  const salt = randomBytes(16).toString('hex')
  return retryOnTakenPort(() => startOnce({ home, data, user, programs, salt }, options))
}

async function startOnce(at: Home, options: PartOptions): Promise<SwiftServer> {
  const claims = await claimPorts(4)
  const ports = claims.map(({ port }) => port)
  const proxyPort = ports[3] ?? 0
  const secret = randomBytes(24).toString('hex')
  const children: Child[] = []
  const stop = async () => {
    await Promise.all(children.map((child) => child.stop()))
    for (const claim of claims) claim.release()
  }
  try {
    writeConfigs(at, ports, secret)
    await together(options.signal, (signal) =>
      storageServers.map((kind, index) => buildRing(kind, ports[index] ?? 0, at, { ...options, signal })),
    )
    await together(options.signal, (signal) =>
      [...storageServers, 'proxy'].map((kind, index) => {
        const child = startServer(kind, at, options)
        children.push(child)
        return readyOrTaken(child, ports[index] ?? 0, signal)
      }),
    )
    await children[3]?.ready(() => createBucket(proxyPort, secret), options.signal)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    endpoint: `http://127.0.0.1:${proxyPort}`,
    region,
    bucket,
    accessKeyId: `${owner.account}:${owner.user}`,
    secretAccessKey: secret,
    pids: () => children.map((child) => child.pid()),
    stop,
  }
}

function writeConfigs({ home, data, user, salt }: Home, ports: number[], secret: string): void {
  const place = { home, data, user: user?.name ?? userInfo().username }
  const write = (name: string, content: string) => {
    const file = join(home, name)
    writeFileSync(file, content, { mode: 0o600 })
    if (user) chownSync(file, user.uid, user.gid)
  }
  write('swift.conf', clusterConfig(salt))
  for (const [index, kind] of storageServers.entries()) {
    write(`${kind}-server.conf`, storageConfig(kind, ports[index] ?? 0, place))
  }
  write('proxy-server.conf', proxyConfig(ports[3] ?? 0, place, { ...owner, secret, region }))
}

async function buildRing(kind: string, port: number, at: Home, options: PartOptions): Promise<void> {
  const builder = join(at.home, `${kind}.builder`)
  const logFile = logFileOf(options.dir, 'swift-setup')
  const program = join(at.programs, 'swift-ring-builder')
  const env = baseEnv(options.dir)
  rmSync(builder, { force: true })
  for (const step of [ringOf, ['add', `r1z1-127.0.0.1:${port}/${device}`, '1'], ['rebalance']]) {
    const command = { program, args: [builder, ...step], env, logFile, user: at.user }
    const ending = await runToEnd(command, options.signal)
    if (ending.code === 0) continue
    throw new StartError(`swift-ring-builder ${step[0]} ${describeEnding(ending)}.`, { logFile })
  }
}

function startServer(kind: string, at: Home, { dir, restart, onChange }: PartOptions): Child {
  return startChild({
    name: `swift-${kind}`,
    program: join(at.programs, `swift-${kind}-server`),
    // Verbose means to standard error; otherwise it speaks to syslog alone.
    args: [join(at.home, `${kind}-server.conf`), '--verbose'],
    env: baseEnv(dir),
    logFile: logFileOf(dir, `swift-${kind}`),
    user: at.user,
    restart: restart ?? true,
    onChange,
  })
}

async function readyOrTaken(child: Child, port: number, signal: AbortSignal): Promise<void> {
  try {
    await child.ready(() => acceptsConnections(port), signal)
  } catch (error) {
    const lostPort = /Could not bind to/.test(readLog(child.logFile))
    throw lostPort ? new PortTakenError(`${child.name}: port taken`) : error
  }
}

/**
 * The last probe: it goes through all four servers, and only the right ones know the secret. Signed in the old way
 * (version 2), which is one line and which Swift still takes.
 */
function createBucket(port: number, secret: string): Promise<true | string> {
  const date = new Date().toUTCString()
  const signature = createHmac('sha1', secret).update(`PUT\n\n\n${date}\n/${bucket}`).digest('base64')
  const authorization = `AWS ${owner.account}:${owner.user}:${signature}`
  const headers = { date, authorization, 'content-length': '0' }
  const at = { host: '127.0.0.1', port, path: `/${bucket}`, method: 'PUT', timeout: bucketWithinMs }
  return new Promise((resolve) => {
    const asked = request({ ...at, headers, agent: false }, (response) => {
      response.resume()
      // 409: an earlier try came through after it was given up.
      const made = response.statusCode === 200 || response.statusCode === 409
      resolve(made || `making the bucket answers ${response.statusCode}`)
    })
    asked.on('timeout', () => asked.destroy(new Error('no answer in time')))
    asked.on('error', (error) => resolve(`making the bucket fails: ${error.message}`))
    asked.end()
  })
}
