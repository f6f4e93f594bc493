import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isProof } from './sizes.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** What is in use after all that is not was collected. Array buffers are counted in what is external. */
export function heldMiB(): number {
  // Buffers that the first finds unused are given back beside the program; the second waits for that.
  collectGarbage()
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 1024 / 1024
}

/** What the kernel gave this process: garbage too, and what the files before this one left in it. */
export function residentMiB(): number {
  return process.memoryUsage().rss / 1024 / 1024
}

/** A look stops everything else in this process; it has a tenth of the time, so that nothing is late because of it. */
const restPerLook = 9

/** By how much this process grows. A proof asks the kernel; the gate looks at what is held while the work is done. */
export async function growthMiB(work: () => Promise<unknown>): Promise<number> {
  if (isProof) {
    const before = residentMiB()
    await work()
    return residentMiB() - before
  }
  const before = heldMiB()
  let peak = before
  let next: NodeJS.Timeout | undefined
  const look = () => {
    const begun = performance.now()
    peak = Math.max(peak, heldMiB())
    next = setTimeout(look, restPerLook * (performance.now() - begun))
  }
  look()
  try {
    await work()
  } finally {
    clearTimeout(next)
  }
  return Math.max(peak, heldMiB()) - before
}
