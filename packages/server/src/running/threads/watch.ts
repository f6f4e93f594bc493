import { stopChannel, type ThreadParts } from './changes.ts'
import { listAttempts } from './list-store.ts'
import { Fenced, type Held } from './log-conversation.ts'

const lookEveryMs = 1000

interface Watched {
  readonly signal: AbortSignal
  leave(): void
}

interface Watching {
  readonly threadRowId: number
  readonly attempt: number
  readonly abort: AbortController
}

/** Notices that runs in this process are no longer its own: by word, or by looking once a second, for all at once. */
export class Watch {
  readonly #parts: ThreadParts
  readonly #watching = new Set<Watching>()
  #timer: NodeJS.Timeout | undefined

  constructor(parts: ThreadParts) {
    this.#parts = parts
  }

  add({ thread, attempt }: Held): Watched {
    const abort = new AbortController()
    const watching = { threadRowId: thread.id, attempt, abort }
    this.#watching.add(watching)
    this.#timer ??= setInterval(() => void this.#look([...this.#watching]), lookEveryMs).unref()
    const leave = this.#parts.bus.listen(stopChannel(thread.id), () => void this.#look([watching]))
    return {
      signal: abort.signal,
      leave: () => {
        leave()
        this.#watching.delete(watching)
        if (this.#watching.size > 0) return
        clearInterval(this.#timer)
        this.#timer = undefined
      },
    }
  }

  /** What cannot be asked now is asked in a second; nothing can be written meanwhile that the thread does not allow. */
  async #look(some: readonly Watching[]): Promise<void> {
    try {
      const ids = some.map(({ threadRowId }) => threadRowId)
      const attempts = await listAttempts(this.#parts.database, ids)
      for (const { threadRowId, attempt, abort } of some) {
        if (attempts.get(threadRowId) !== attempt) abort.abort(new Fenced('another attempt has the run'))
      }
    } catch (error) {
      this.#parts.logger.debug({ err: error }, 'the runs of this worker were not looked at')
    }
  }
}
