import type { Bus } from '#platform/bus.ts'
import type { Deps } from '#platform/deps.ts'
import { readTurns, type TraceReading } from './read.ts'
import * as store from './store.ts'

const lookAgainMs = 1000

/** Told when turns were appended to a trace, and when somebody began to produce some. */
export function traceChannel(traceId: string): string {
  return `trace:${traceId}`
}

type TailParts = TraceReading & Pick<Deps, 'stopping'> & { readonly bus: Bus }

/**
 * The turns after a number; with `waitMs`, and when there are none, as soon as there is one. Woken by word that something
 * was appended or produced; looks by itself every second, because word can be lost, and asks whether who waits still may.
 */
export async function tailTurns(
  parts: TailParts,
  trace: { readonly workspaceId: string; readonly id: string },
  { afterSeq, limit, waitMs }: { afterSeq: number; limit: number; waitMs: number },
  { signal, confirm }: { readonly signal: AbortSignal; confirm(): Promise<void> | undefined },
) {
  const end = performance.now() + waitMs
  const ear = new Ear(parts, trace)
  try {
    for (;;) {
      // Listening begins before looking, or what comes in between would be missed.
      if (waitMs > 0) await ear.listen()
      const page = await readTurns(parts, trace, { afterSeq, limit })
      const left = end - performance.now()
      if (!page || page.items.length > 0 || left <= 0) return page
      await ear.word(Math.min(left, lookAgainMs), AbortSignal.any([signal, parts.stopping]))
      if (signal.aborted || parts.stopping.aborted) return page
      await confirm()
    }
  } finally {
    ear.close()
  }
}

/** Hears of a trace and of all that still produce turns of it. */
class Ear {
  readonly #parts: TailParts
  readonly #trace: { readonly workspaceId: string; readonly id: string }
  readonly #leaving = new Map<string, () => void>()
  #heard = false
  #wake: () => void = () => {}

  constructor(parts: TailParts, trace: { readonly workspaceId: string; readonly id: string }) {
    this.#parts = parts
    this.#trace = trace
  }

  /** Those who joined since the last look are heard from now on. */
  async listen(): Promise<void> {
    const { bus, database, sources } = this.#parts
    const { workspaceId, id } = this.#trace
    this.#heard = false
    this.#add('trace', (heard) => bus.listen(traceChannel(id), heard))
    const reach = await store.findReach(database.db, workspaceId, id)
    for (const { kind, rowId } of reach?.open ?? []) {
      const source = sources[kind]
      if (source) this.#add(`${kind}:${rowId}`, (heard) => source.listen(rowId, heard))
    }
  }

  #add(name: string, listen: (heard: () => void) => () => void): void {
    if (this.#leaving.has(name)) return
    const heard = () => {
      this.#heard = true
      this.#wake()
    }
    this.#leaving.set(name, listen(heard))
  }

  /** Resolves at once when something was heard since the listening began. */
  word(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#heard || signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal.addEventListener('abort', done)
      this.#wake = done
    })
  }

  close(): void {
    for (const leave of this.#leaving.values()) leave()
  }
}
