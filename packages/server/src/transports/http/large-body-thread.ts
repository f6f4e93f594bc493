import { parentPort } from 'node:worker_threads'
import { ApiError } from '#operations/errors.ts'
import { JsonMeter } from '#operations/json-values.ts'
import { readJson } from '#operations/read-json.ts'

export interface Task {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly mostValues: number
}

/** Errors lose what they are on their way between threads. */
export type Reading =
  | { readonly parsed: unknown }
  | { readonly refused: { readonly message: string; readonly details?: Readonly<Record<string, unknown>> } }

/** The thread that `large-bodies.ts` starts: the bytes of one body in, what they say out. */
parentPort?.on('message', (task: Task) => parentPort?.postMessage(read(task)))

function read({ bytes, mostValues }: Task): Reading {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const meter = new JsonMeter(mostValues)
  try {
    meter.take(body)
    return { parsed: readJson(body, meter) }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { message, details } = error
    return { refused: details === undefined ? { message } : { message, details } }
  }
}
