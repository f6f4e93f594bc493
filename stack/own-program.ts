import { randomBytes } from 'node:crypto'
import { bundled } from './bundled.ts'
import { startChild } from './child.ts'
import { logFileOf, type PartOptions } from './folder.ts'
import { claimPort, retryOnTakenPort } from './ports.ts'
import { httpGet } from './probes.ts'
import { baseEnv } from './spawn.ts'

export type OwnProgram = { url: string; pid: () => number | null; stop: () => Promise<void> }

type Start = PartOptions & { name: string; program: string; env?: Record<string, string> }

/** A server of this folder: it listens on PORT, and /healthz shows its INSTANCE, so that no stranger is taken for it. */
export async function startOwnProgram(options: Start): Promise<OwnProgram> {
  return retryOnTakenPort(() => startOnce(options))
}

async function startOnce({ dir, restart, signal, onChange, name, program, env }: Start): Promise<OwnProgram> {
  signal?.throwIfAborted()
  const { port, release } = await claimPort()
  const url = `http://127.0.0.1:${port}`
  const instance = randomBytes(16).toString('hex')
  const child = startChild({
    name,
    program: process.execPath,
    args: [bundled(program)],
    env: { ...baseEnv(dir), ...env, PORT: String(port), INSTANCE: instance },
    logFile: logFileOf(dir, name),
    restart: restart ?? true,
    onChange,
  })
  const stop = async () => {
    await child.stop()
    release()
  }
  try {
    const isUp = async () => (await httpGet(`${url}/healthz`))?.body.includes(instance) ?? false
    await child.ready(isUp, signal)
  } catch (error) {
    await stop()
    throw error
  }
  return { url, pid: child.pid, stop }
}
