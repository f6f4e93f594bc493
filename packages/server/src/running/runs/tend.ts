import type { PausedCall } from '#platform/engine-client.ts'
import { sideBySide } from '#platform/side-by-side.ts'
import { failRun } from './cancel.ts'
import type { RunParts } from './run-parts.ts'

const atMost = 200
const atOnce = 10

export interface TendSettings {
  readonly lookEveryMs: number
  /** From the first time that the engine put a call aside, and with the database there all along. */
  readonly tendForMs: number
}

const tendSettings: TendSettings = { lookEveryMs: 10_000, tendForMs: 60 * 60_000 }

/**
 * The engine puts a call aside that has failed many times in a row, and does not take it up by itself. Whatever it failed
 * for may have passed, as a database that was away for minutes: it is tried again, for an hour. After that it is ended,
 * and its run with it, so that no run says for ever that it is running.
 */
export class PausedRuns {
  readonly #parts: RunParts
  readonly #settings: TendSettings
  readonly #seen = new Map<string, { readonly firstAt: number; lastAt: number }>()
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(parts: RunParts, settings = tendSettings) {
    this.#parts = parts
    this.#settings = settings
  }

  async tend(): Promise<void> {
    const now = performance.now()
    if (now - this.#lookedAt < this.#settings.lookEveryMs) return
    this.#lookedAt = now
    const paused = await this.#parts.engine.listPaused(atMost).catch((error: unknown) => {
      // That the engine is away is told by whoever needs it at once.
      this.#parts.logger.debug({ err: error }, 'the engine was not asked for what it has put aside')
      return []
    })
    for (const call of paused) this.#note(call, now)
    for (const [id, { lastAt }] of this.#seen)
      if (now - lastAt > this.#settings.tendForMs) this.#seen.delete(id)
    await sideBySide(paused, atOnce, (call) => this.#tendOne(call, now))
  }

  #note({ invocationId }: PausedCall, now: number): void {
    const seen = this.#seen.get(invocationId)
    if (seen) seen.lastAt = now
    else this.#seen.set(invocationId, { firstAt: now, lastAt: now })
  }

  async #tendOne({ invocationId, runId }: PausedCall, now: number): Promise<void> {
    const { engine, logger } = this.#parts
    const triedForMs = now - (this.#seen.get(invocationId)?.firstAt ?? now)
    const isOver = Math.min(triedForMs, this.#parts.database.steadyMs) >= this.#settings.tendForMs
    const about = { invocation: invocationId, run: runId }
    try {
      if (!isOver) {
        logger.warn(
          about,
          'the engine had put a call aside after many attempts, whose failures its worker has logged; it is tried again',
        )
        return await engine.resumePaused(invocationId)
      }
      logger.error(about, 'a call did not come to an end within an hour of attempts, and is ended')
      if (runId !== undefined) await failRun(this.#parts, runId)
      await engine.endPaused(invocationId)
    } catch (error) {
      // Another process may have done it, and the next look finds what is left.
      logger.debug({ ...about, err: error }, 'what the engine had put aside was not tended to')
    }
  }
}
