import { inject } from 'vitest'
import type { SpawnedStack } from '../../../stack/client.ts'
import { livingOf, serves } from '../../chaos/part-faults.ts'
import { pidsOf, until } from '../../support/processes.ts'

/** Two API and two worker processes without limits. Others use it too, and it is theirs who started it to stop. */
export type SharedStack = Omit<SpawnedStack, 'said' | 'stop'>

/** For files that leave its parts alone: there are rows of others, and nothing else. */
export function calmStack(): Promise<SharedStack> {
  return askFor('calm')
}

/** For files that kill and freeze: every process is there and ready, whatever the file before this one has left. */
export async function roughStack(): Promise<SharedStack> {
  const stack = await askFor('rough')
  // One that was given up on may have left a process that stands still.
  for (const pid of Object.values(pidsOf(stack.dir)).flat()) if (pid) process.kill(pid, 'SIGCONT')
  await untilAllReady(stack, 30_000)
  return stack
}

/** Each API process says so by itself: behind the balancer one that is ready could answer for one that is not. */
export async function untilAllReady({ apiUrls, dir }: SharedStack, withinMs: number): Promise<void> {
  await until(async () => {
    if (livingOf(dir, 'api').length < 2 || livingOf(dir, 'worker').length < 2) return false
    return (await Promise.all(apiUrls.map(serves))).every(Boolean)
  }, withinMs)
}

async function askFor(name: 'calm' | 'rough'): Promise<SharedStack> {
  const answer = await fetch(new URL(name, inject('sharedStacksUrl')))
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return JSON.parse(text)
}
