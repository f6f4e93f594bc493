import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { startChild } from '../child.ts'
import { logFileOf, type PartOptions } from '../folder.ts'
import { claimPort, retryOnTakenPort } from '../ports.ts'
import { httpGet } from '../probes.ts'
import { baseEnv } from '../spawn.ts'

export type ModelServer = {
  /** The base address of both protocols. */
  url: string
  pid: () => number | null
  stop: () => Promise<void>
}

const program = fileURLToPath(new URL('main.ts', import.meta.url))

export async function startModelEndpoint(options: PartOptions): Promise<ModelServer> {
  return retryOnTakenPort(() => startOnce(options))
}

async function startOnce({ dir, restart, signal, onChange }: PartOptions): Promise<ModelServer> {
  signal?.throwIfAborted()
  const { port, release } = await claimPort()
  const origin = `http://127.0.0.1:${port}`
  const instance = randomBytes(16).toString('hex')
  const child = startChild({
    name: 'models',
    program: process.execPath,
    args: [program],
    env: { ...baseEnv(dir), PORT: String(port), INSTANCE: instance },
    logFile: logFileOf(dir, 'models'),
    restart: restart ?? true,
    onChange,
  })
  const stop = async () => {
    await child.stop()
    release()
  }
  try {
    const isUp = async () => (await httpGet(`${origin}/healthz`))?.body.includes(instance) ?? false
    await child.ready(isUp, signal)
  } catch (error) {
    await stop()
    throw error
  }
  return { url: `${origin}/v1`, pid: child.pid, stop }
}
