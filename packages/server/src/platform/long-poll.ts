import type { Bus } from './bus.ts'

const lookAgainMs = 1000

interface Waiting {
  /** How many seconds whoever asks is willing to wait. */
  readonly wait: number | undefined
  readonly signal: AbortSignal
}

/**
 * Looks at once, and with `wait` again and again until what it finds is over or the time is. Woken by word on the channel
 * from whichever process; looks by itself every second, because word can be lost. A process that stops makes nobody wait.
 */
export async function longPoll<T>(
  { bus, stopping }: { readonly bus: Bus; readonly stopping: AbortSignal },
  channel: string,
  { wait = 0, signal }: Waiting,
  look: () => Promise<{ readonly found: T; readonly isOver: boolean }>,
): Promise<T> {
  const end = performance.now() + wait * 1000
  for (;;) {
    const left = end - performance.now()
    const enough = new AbortController()
    // Listening begins before looking, or a word in between would be missed.
    const woken =
      left > 0 && !stopping.aborted
        ? bus.wait(channel, AbortSignal.any([signal, enough.signal]), Math.min(left, lookAgainMs))
        : undefined
    try {
      const { found, isOver } = await look()
      if (isOver || !woken || signal.aborted) return found
      await woken
    } finally {
      enough.abort()
    }
  }
}
