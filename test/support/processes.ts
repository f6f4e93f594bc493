import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Pids {
  api: number[]
  worker: number[]
  postgres: number
  redis: number
  restate: number
  swift: number[]
}

/** The processes of a stack as they are now. */
export function pidsOf(dir: string): Pids {
  return JSON.parse(readFileSync(join(dir, 'pids.json'), 'utf8'))
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Waits until something is so, and fails when it is not so in time. */
export async function until(isSo: () => boolean | Promise<boolean>, withinMs: number): Promise<void> {
  const end = performance.now() + withinMs
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`not so after ${withinMs} ms: ${isSo}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
