import { loadavg } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { readTicks } from '../gate/machine.ts'

/** Looks at the machine for some seconds. What is in the way of a figure, if anything is. */
export async function whatDisturbs(): Promise<string | undefined> {
  const before = readTicks()
  await pause(3000)
  const now = readTicks()
  const share = (what: 'used' | 'taken') => (100 * (now[what] - before[what])) / (now.all - before.all)
  const [load = 0] = loadavg()
  if (share('used') < 15 && share('taken') < 5) return undefined
  return `${share('used').toFixed(0)} % of it is in use, ${share('taken').toFixed(0)} % taken by others, load ${load.toFixed(1)}`
}
