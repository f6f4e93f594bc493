import { parentPort } from 'node:worker_threads'
import { compareFiles, type FilePair } from './compare.ts'

export interface Task {
  readonly pairs: readonly FilePair[]
  readonly time: Parameters<typeof compareFiles>[1]
}

/** The thread that `comparer.ts` starts: one list of files in, one list of comparisons out. */
parentPort?.on('message', ({ pairs, time }: Task) => parentPort?.postMessage(compareFiles(pairs, time)))
