import { CirclePause } from 'lucide-react'
import { useSyncExternalStore } from 'react'
import { serverNow } from '../api/client.ts'
import { words } from '../words.ts'
import { leftIn } from './time.ts'

/** One tick a second for the whole page, and none while nobody sees it. */
const listeners = new Set<() => void>()
let second = Math.floor(serverNow() / 1000)
setInterval(tick, 1000)
document.addEventListener('visibilitychange', tick)

function tick(): void {
  if (document.visibilityState === 'hidden') return
  second = Math.floor(serverNow() / 1000)
  for (const listener of listeners) listener()
}

/** The server's time, to the second. */
export function useNow(): number {
  const now = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => second,
  )
  return now * 1000
}

export function useIsOver(expiresAt: string | null): boolean {
  const now = useNow()
  return expiresAt !== null && Date.parse(expiresAt) <= now
}

const soonMs = 60_000
const around = 34.6

interface TimerProps {
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly isLong?: boolean
}

export function Timer({ createdAt, expiresAt, isLong = false }: TimerProps) {
  const now = useNow()
  if (expiresAt === null) {
    return (
      <span className="timer" data-testid="card-timer">
        <CirclePause size={14} aria-hidden="true" />
        {words.waits}
      </span>
    )
  }
  // The clock's second began before the moment does, and nothing has more left than it was given.
  const givenMs = Date.parse(expiresAt) - Date.parse(createdAt)
  const leftMs = Math.min(Date.parse(expiresAt) - now, givenMs)
  const part = Math.max(0, leftMs / givenMs)
  const state = leftMs <= 0 ? 'ended' : leftMs < soonMs ? 'soon' : 'going'
  const left = leftMs <= 0 ? words.ended : isLong ? words.left(leftIn(leftMs)) : leftIn(leftMs)
  return (
    <span className="timer" role="timer" aria-live="off" data-state={state} data-testid="card-timer">
      <svg
        className="ring"
        width="14"
        height="14"
        viewBox="0 0 14 14"
        fill="none"
        strokeWidth="2.4"
        aria-hidden="true"
      >
        <circle className="ring-ground" cx="7" cy="7" r="5.5" />
        <circle cx="7" cy="7" r="5.5" stroke="currentColor" strokeDasharray={`${part * around} 40`} />
      </svg>
      {left}
    </span>
  )
}
