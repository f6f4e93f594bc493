import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startChild } from './child.ts'
import { logFileOf, type PartOptions } from './folder.ts'
import { claimPort, retryOnTakenPort } from './ports.ts'
import { exchange } from './probes.ts'
import { findRedisServer } from './programs.ts'
import { baseEnv } from './spawn.ts'

export type RedisServer = { url: string; port: number; pid: () => number | null; stop: () => Promise<void> }

export function startRedis(options: PartOptions): Promise<RedisServer> {
  return retryOnTakenPort(() => startOnce(options))
}

async function startOnce({ dir, restart, signal, onChange }: PartOptions): Promise<RedisServer> {
  signal?.throwIfAborted()
  const program = findRedisServer()
  const data = join(dir, 'redis')
  mkdirSync(data, { recursive: true })
  const { port, release } = await claimPort()
  const settings = {
    bind: '127.0.0.1',
    port: String(port),
    dir: data,
    save: '',
    appendonly: 'no',
    daemonize: 'no',
  }
  const child = startChild({
    name: 'redis',
    program,
    args: Object.entries(settings).flatMap(([key, value]) => [`--${key}`, value]),
    env: baseEnv(dir),
    logFile: logFileOf(dir, 'redis'),
    restart: restart ?? true,
    onChange,
  })
  const stop = async () => {
    await child.stop()
    release()
  }
  try {
    await child.ready(
      () => exchange(port, 'INFO server\r\n', (heard) => heard.includes(`\r\nprocess_id:${child.pid()}\r\n`)),
      signal,
    )
  } catch (error) {
    await stop()
    throw error
  }
  return { url: `redis://127.0.0.1:${port}`, port, pid: child.pid, stop }
}
