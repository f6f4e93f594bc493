import { type HeapProfiler, type Profiler, Session } from 'node:inspector/promises'

/** What this process does, in counts that are the same on every machine, whoever else uses it. */
export interface WorkCounter {
  /** How many blocks of code have run since this was asked before, our own and what we use. */
  takeSteps(): Promise<number>
  /** How many bytes the values have that are made, also those that are gone at once: no more is held at a time. */
  bytesOf(work: () => Promise<unknown>): Promise<number>
  stop(): Promise<void>
}

/** What calls and looks on here is no part of what a request costs. */
const others =
  /\binspector\b|\/test\/|\/scripts\/|\/(?:vitest|vite|@vitest|undici|chai|tinypool)\/|^evalmachine/

export async function countWork(): Promise<WorkCounter> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  await session.post('HeapProfiler.enable')
  return {
    takeSteps: async () => stepsIn((await session.post('Profiler.takePreciseCoverage')).result),
    bytesOf: async (work) => {
      await session.post('HeapProfiler.startSampling', {
        samplingInterval: 16_384,
        includeObjectsCollectedByMajorGC: true,
        includeObjectsCollectedByMinorGC: true,
      })
      await work()
      return bytesIn((await session.post('HeapProfiler.stopSampling')).profile.head)
    },
    stop: async () => {
      await session.post('HeapProfiler.disable')
      await session.post('Profiler.stopPreciseCoverage')
      await session.post('Profiler.disable')
      session.disconnect()
    },
  }
}

function stepsIn(scripts: readonly Profiler.ScriptCoverage[]): number {
  let steps = 0
  for (const { url, functions } of scripts) {
    if (others.test(url) || url.startsWith('node:')) continue
    for (const { ranges } of functions) for (const { count } of ranges) steps += count
  }
  return steps
}

function bytesIn({ callFrame, selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number {
  if (others.test(callFrame.url)) return 0
  return children.reduce((sum, child) => sum + bytesIn(child), selfSize)
}
