import { parentPort } from 'node:worker_threads'
import { compareFiles, type FilePair } from './compare.ts'

/** The thread that `comparer.ts` starts: one list of files in, one list of comparisons out. */
parentPort?.on(
  'message',
  ({ pairs, time }: { pairs: FilePair[]; time: Parameters<typeof compareFiles>[1] }) =>
    parentPort?.postMessage(compareFiles(pairs, time)),
)
