import { setTimeout as delay } from 'node:timers/promises'
import type { SpawnedStack } from '../../stack/client.ts'
import { isAlive, pidsOf, until } from '../support/processes.ts'
import { shuffled } from './faults/fault.ts'

const parts = ['api', 'worker', 'redis', 'restate'] as const
export type KilledPart = (typeof parts)[number]
export type Part = KilledPart | 'postgres'

export interface Fault {
  readonly part: KilledPart
  readonly pid: number
}

export interface FaultPlan {
  readonly count: number
  /** Between one fault and the next, once there is a process of every part that serves again. */
  readonly gapMs: { readonly least: number; readonly most: number }
  readonly random: () => number
}

const againWithinMs = 60_000

/**
 * Kills processes of a stack as none can prevent, one after the other, at random times and in random order but each part
 * equally often; the stack starts them again.
 */
export async function injectFaults(
  { dir, baseUrl }: Pick<SpawnedStack, 'dir' | 'baseUrl'>,
  { count, gapMs, random }: FaultPlan,
  onFault: (fault: Fault) => void,
): Promise<void> {
  let order: readonly KilledPart[] = parts
  for (let made = 0; made < count; made++) {
    await delay(gapMs.least + random() * (gapMs.most - gapMs.least))
    if (made % parts.length === 0) order = shuffled(parts, random)
    const part = order[made % parts.length] ?? 'api'
    const before = livingOf(dir, part)
    const pid = before[Math.floor(random() * before.length)]
    if (pid === undefined) throw new Error(`no process of ${part} is alive although each was started again`)
    onFault({ part, pid })
    process.kill(pid, 'SIGKILL')
    await until(() => livingOf(dir, part).filter((now) => now !== pid).length >= before.length, againWithinMs)
    // Not until each process serves: a part of which the other one is still starting may be lost as a whole.
    await until(() => serves(baseUrl), againWithinMs)
  }
}

export async function serves(baseUrl: string): Promise<boolean> {
  try {
    const response = await fetch(`${baseUrl}/readyz`, { signal: AbortSignal.timeout(5000) })
    return ((await response.json()) as { status: string }).status === 'ok'
  } catch {
    return false
  }
}

export function livingOf(dir: string, part: Part): number[] {
  const pids: (number | null)[] = [pidsOf(dir)[part]].flat()
  return pids.filter((pid) => pid !== null && isAlive(pid)) as number[]
}
