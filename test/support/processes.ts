import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { patienceFor } from './sizes.ts'

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

/** Stops a process in the middle of whatever it does; gives what lets it go on. */
export function freeze(pid: number): () => void {
  const wasThere = signal(pid, 'SIGSTOP')
  return () => {
    if (wasThere) signal(pid, 'SIGCONT')
  }
}

/** The same with all that it began. It is stopped first, so that it begins no others meanwhile. */
export function freezeTree(first: number): () => void {
  const resumeFirst = freeze(first)
  const children = readFileSync(`/proc/${first}/task/${first}/children`, 'utf8').match(/\d+/g) ?? []
  const frozen = children.map((pid) => freeze(Number(pid)))
  return () => {
    for (const resume of [...frozen, resumeFirst]) resume()
  }
}

/** Whether the process was there for it. */
function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false
    throw error
  }
}

/** Waits until something is so, and fails when it is not so in time. */
export async function until(isSo: () => boolean | Promise<boolean>, withinMs: number): Promise<void> {
  const mostMs = patienceFor(withinMs)
  const end = performance.now() + mostMs
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`not so after ${mostMs} ms: ${isSo}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
