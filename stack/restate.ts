import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startChild } from './child.ts'
import { logFileOf, type PartOptions } from './folder.ts'
import { claimPorts, retryOnTakenPort } from './ports.ts'
import { answersOk } from './probes.ts'
import { findRestateServer } from './programs.ts'
import { createRequestIdentity } from './request-identity.ts'
import { baseEnv } from './spawn.ts'

export type RestateServer = {
  ingressUrl: string
  adminUrl: string
  /** The public key that a worker checks the server's calls with. */
  identityKey: string
  pid: () => number | null
  stop: () => Promise<void>
}

type ConfigValues = { data: string; keyFile: string; node: number; ingress: number; admin: number }

export function startRestate(options: PartOptions): Promise<RestateServer> {
  return retryOnTakenPort(() => startOnce(options))
}

async function startOnce({ dir, restart, signal, onChange }: PartOptions): Promise<RestateServer> {
  signal?.throwIfAborted()
  const program = findRestateServer()
  const home = join(dir, 'restate')
  const keyFile = join(home, 'request-identity.pem')
  const configFile = join(home, 'restate.toml')
  const identity = createRequestIdentity()
  const claims = await claimPorts(3)
  const [node = 0, ingress = 0, admin = 0] = claims.map(({ port }) => port)
  mkdirSync(home, { recursive: true, mode: 0o700 })
  writeFileSync(keyFile, identity.privateKeyPem, { mode: 0o600 })
  writeFileSync(configFile, config({ data: join(home, 'data'), keyFile, node, ingress, admin }))

  const child = startChild({
    name: 'restate',
    program,
    args: ['--no-logo', '--config-file', configFile],
    env: baseEnv(dir),
    logFile: logFileOf(dir, 'restate'),
    restart: restart ?? true,
    onChange,
  })
  const stop = async () => {
    await child.stop()
    for (const claim of claims) claim.release()
  }
  const ingressUrl = `http://127.0.0.1:${ingress}`
  const adminUrl = `http://127.0.0.1:${admin}`
  try {
    const isUp = async () =>
      (await answersOk(`${adminUrl}/health`)) && (await answersOk(`${ingressUrl}/restate/health`))
    await child.ready(isUp, signal)
  } catch (error) {
    await stop()
    throw error
  }
  return { ingressUrl, adminUrl, identityKey: identity.publicKey, pid: child.pid, stop }
}

/**
 * Partitions are fixed when the cluster is made; few of them are fastest on a small machine. The server looks
 * for newer releases on GitHub whatever the telemetry setting says; octocrab is silenced because without a
 * network that look fails at every start and reads like a broken server.
 */
function config({ data, keyFile, node, ingress, admin }: ConfigValues): string {
  const text = (value: string) => JSON.stringify(value)
  return `
cluster-name = "guildhall-stack"
node-name = "stack"
disable-telemetry = true
listen-mode = "tcp"
bind-ip = "127.0.0.1"
bind-port = ${node}
advertised-host = "127.0.0.1"
base-dir = ${text(data)}
default-num-partitions = 4
rocksdb-total-memory-size = "256 MiB"
shutdown-timeout = "5s"
log-disable-ansi-codes = true
log-filter = "warn,restate=info,octocrab=off"

[ingress]
bind-address = "127.0.0.1:${ingress}"

[admin]
bind-address = "127.0.0.1:${admin}"

[worker.invoker]
request-identity-private-key-pem-file = ${text(keyFile)}
`
}
