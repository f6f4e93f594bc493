import { execFile } from 'node:child_process'
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Balancer, startBalancer } from '../../stack/balancer.ts'
import { type Child, startChild } from '../../stack/child.ts'
import { logFileOf } from '../../stack/folder.ts'
import { claimPorts } from '../../stack/ports.ts'
import { httpGet } from '../../stack/probes.ts'
import { baseEnv } from '../../stack/spawn.ts'
import type { Stack } from '../../stack/start.ts'

/** In front of a server for a client that cannot be told a header: adds the key, and leaves everything else as it is. */
export interface KeyProxy {
  readonly url: string
  readonly origins: readonly string[]
  point(target: string, key: string): void
  close(): void
}

export async function startKeyProxy(): Promise<KeyProxy> {
  let target = ''
  let key = ''
  const server = createServer((received, answer) => {
    const { method, url = '/', headers } = received
    // A connection for each request: every second one reaches the other process.
    const forwarded = send(new URL(url, target), {
      method,
      headers: { ...headers, 'x-api-key': key },
      agent: false,
    })
    forwarded.on('response', (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(answer)
      response.on('error', () => answer.destroy())
    })
    forwarded.on('error', () => answer.destroy())
    answer.on('close', () => forwarded.destroy())
    received.pipe(forwarded)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/mcp/`,
    origins: ['127.0.0.1', 'localhost'].map((name) => `http://${name}:${port}`),
    point: (newTarget, newKey) => {
      target = newTarget
      key = newKey
    },
    close: () => void server.close(),
  }
}

/** Two API processes beside those of the stack, on its database and Redis, with the catalogue that the suite asks for. */
export async function startFixture(stack: Stack): Promise<{ url: string; stop(): Promise<void> }> {
  const claims = await claimPorts(2)
  const children = claims.map(({ port }, index): Child => {
    const name = `mcp-fixture-${index + 1}`
    return startChild({
      name,
      program: process.execPath,
      args: [join(import.meta.dirname, 'mcp-fixture-api.ts')],
      env: { ...baseEnv(stack.dir), ...stack.env, PORT: String(port) },
      logFile: logFileOf(stack.dir, name),
      restart: false,
      // They hold nothing that is worth a good end.
      stopSignal: 'SIGKILL',
    })
  })
  let balancer: Balancer | undefined
  const stop = async () => {
    await balancer?.close()
    await Promise.all(children.map((child) => child.stop()))
    for (const { release } of claims) release()
  }
  try {
    await Promise.all(
      children.map((child, index) =>
        child.ready(
          async () => (await httpGet(`http://127.0.0.1:${claims[index]?.port}/healthz`))?.status === 200,
        ),
      ),
    )
    balancer = await startBalancer(claims.map(({ port }) => port))
    return { url: balancer.url, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

const packages = join(import.meta.dirname, 'node_modules', '@modelcontextprotocol')

/** Runs a program of the official packages, in a folder that it may write to. */
export function runProgram(
  program: 'conformance/dist/index.js' | 'inspector/clients/launcher/build/index.js',
  args: readonly string[],
  cwd: string,
): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const options = { cwd, maxBuffer: 64 * 1024 * 1024, timeout: 240_000 }
    execFile(process.execPath, [join(packages, program), ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
      resolve({ code, output: stdout + stderr })
    })
  })
}
