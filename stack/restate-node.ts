import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startChild } from './child.ts'
import { logFileOf, type PartOptions } from './folder.ts'
import { answersOk } from './probes.ts'
import { findRestateServer } from './programs.ts'
import { baseEnv } from './spawn.ts'

export type RestateNode = {
  ingressUrl: string
  adminUrl: string
  pid: () => number | null
  stop: () => Promise<void>
}

export type NodePorts = { node: number; ingress: number; admin: number }

type NodeOptions = PartOptions & {
  name: string
  ports: NodePorts
  /** The private key, in PEM, with which it signs what it calls. */
  identityPem: string
  /** Lines of its configuration that stand before the first table. */
  settings: string
  /** Tables of its configuration. */
  tables?: string
}

/** Starts one server and waits until it answers. */
export async function startRestateNode(options: NodeOptions): Promise<RestateNode> {
  const { dir, name, ports, restart, signal, onChange } = options
  signal?.throwIfAborted()
  const home = join(dir, name)
  const keyFile = join(home, 'request-identity.pem')
  const configFile = join(home, 'restate.toml')
  mkdirSync(home, { recursive: true, mode: 0o700 })
  writeFileSync(keyFile, options.identityPem, { mode: 0o600 })
  writeFileSync(configFile, config(options, join(home, 'data'), keyFile))
  const child = startChild({
    name,
    program: findRestateServer(),
    args: ['--no-logo', '--config-file', configFile],
    env: baseEnv(dir),
    logFile: logFileOf(dir, name),
    restart: restart ?? true,
    onChange,
  })
  const ingressUrl = `http://127.0.0.1:${ports.ingress}`
  const adminUrl = `http://127.0.0.1:${ports.admin}`
  try {
    const isUp = async () =>
      (await answersOk(`${adminUrl}/health`)) && (await answersOk(`${ingressUrl}/restate/health`))
    await child.ready(isUp, signal)
  } catch (error) {
    await child.stop()
    throw error
  }
  return { ingressUrl, adminUrl, pid: child.pid, stop: child.stop }
}

/**
 * The server looks for newer releases on GitHub whatever the telemetry setting says; octocrab is silenced because
 * without a network that look fails at every start and reads like a broken server. A worker that hangs is found by the
 * pings of the connection to it, here within six seconds; by default it takes a minute.
 */
function config({ name, ports, settings, tables = '' }: NodeOptions, data: string, keyFile: string): string {
  const text = (value: string) => JSON.stringify(value)
  return `
cluster-name = "guildhall-stack"
node-name = ${text(name)}
disable-telemetry = true
listen-mode = "tcp"
bind-ip = "127.0.0.1"
bind-port = ${ports.node}
advertised-host = "127.0.0.1"
base-dir = ${text(data)}
rocksdb-total-memory-size = "256 MiB"
shutdown-timeout = "5s"
log-disable-ansi-codes = true
log-filter = "warn,restate=info,octocrab=off"
${settings}

[ingress]
bind-address = "127.0.0.1:${ports.ingress}"

[admin]
bind-address = "127.0.0.1:${ports.admin}"

[worker.invoker]
http2-keep-alive-interval = "2s"
http2-keep-alive-timeout = "4s"
request-identity-private-key-pem-file = ${text(keyFile)}

${tables}
`
}
