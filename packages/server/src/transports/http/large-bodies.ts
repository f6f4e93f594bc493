import { ApiError } from '#operations/errors.ts'
import { FairPlaces } from '#platform/fair-places.ts'
import { Threads } from '#platform/threads.ts'
import type { Reading, Task } from './large-body-thread.ts'

/**
 * What is larger is read in a thread: looking through and parsing 14.5 MB takes 200 ms in one go, getting what was
 * made of it from a thread hardly longer than copying its texts. Only files are that large, and of few values: many
 * would take as long to come back as to be parsed.
 */
export const largeBytes = 1024 * 1024

/** Several times what the largest body needs, whose values are counted before it is parsed: beyond it the process would end. */
const memoryMib = 256
/** For a thread to start on a machine that is very busy. */
const withinMs = 30_000

/** One after the other, callers in turn. */
export class LargeBodies {
  readonly #places = new FairPlaces(1, 1)
  readonly #threads = new Threads<Task, Reading>(
    new URL('./large-body-thread.ts', import.meta.url),
    memoryMib,
  )

  async read(caller: string, bytes: Buffer<ArrayBuffer>, mostValues: number, signal: AbortSignal) {
    const leave = await this.#places.take(caller, signal).catch((cause) => {
      // Has gone, and reads no answer.
      throw new ApiError('INVALID_INPUT', { cause })
    })
    try {
      const reading = await this.#threads.ask({ bytes, mostValues }, withinMs, [bytes.buffer])
      if (!reading) throw new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 1 })
      if ('refused' in reading) throw new ApiError('INVALID_INPUT', reading.refused)
      return reading.parsed
    } finally {
      leave()
    }
  }
}
