import { setTimeout as pause } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { left } from '../output/duration.ts'
import { type Shown, say } from '../output/safe-text.ts'

/** The longest a poll is held open by the server. */
const pollSeconds = 25

export interface Wait<Answer> {
  /** What is waited for, as the progress line says it. */
  words: Shown
  waitMs: number
  /** Asks once and may be held open so many seconds. */
  poll: (waitSeconds: number, signal: AbortSignal) => Promise<Answer>
  isOver: (answer: Answer) => boolean
}

/** Polls until it is over, with the time that is left on one line. Undefined: out of time. */
export async function waitFor<Answer>(
  { out, signal }: Context,
  wait: Wait<Answer>,
): Promise<Answer | undefined> {
  const until = Date.now() + wait.waitMs
  const show = () => out.progress(say`${wait.words}, ${left(until - Date.now())} left`)
  show()
  const ticking = out.stderrIsTerminal ? setInterval(show, 1000) : undefined
  try {
    for (;;) {
      const leftMs = until - Date.now()
      const began = Date.now()
      const seconds = Math.max(0, Math.min(pollSeconds, Math.floor(leftMs / 1000)))
      const answer = await wait.poll(seconds, signal)
      if (wait.isOver(answer)) return answer
      if (Date.now() >= until) return undefined
      // A server that does not hold polls open is not asked more than once a second.
      await pause(Math.max(0, Math.min(1000 - (Date.now() - began), until - Date.now())), undefined, {
        signal,
      })
    }
  } finally {
    clearInterval(ticking)
    out.endProgress()
  }
}
