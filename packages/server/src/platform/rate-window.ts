import type { RedisLink } from './redis.ts'

/** One sliding window to count a request in. */
export interface Window {
  readonly key: string
  readonly max: number
  readonly windowMs: number
}

export interface WindowState {
  readonly allowed: boolean
  readonly remaining: number
  /** Until the oldest counted request leaves the window. */
  readonly resetMs: number
}

/**
 * The times of the counted requests, oldest first, one list per window. A request is counted only if every
 * window has room, so a refused one costs nothing. Redis's own clock decides, the same for every process.
 * Answers, per window: how many it now holds, and the milliseconds until its oldest leaves; -1 marks the full.
 */
export const countInWindowsScript = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local counts, full = {}, false
for i, key in ipairs(KEYS) do
  local max, span = tonumber(ARGV[i * 2 - 1]), tonumber(ARGV[i * 2])
  local oldest = redis.call('LINDEX', key, 0)
  while oldest and tonumber(oldest) <= now - span do
    redis.call('LPOP', key)
    oldest = redis.call('LINDEX', key, 0)
  end
  local count = redis.call('LLEN', key)
  if count >= max then full = true end
  counts[i] = { count, oldest and (tonumber(oldest) + span - now) or span, count >= max }
end
local answer = {}
for i, key in ipairs(KEYS) do
  local c = counts[i]
  if not full then
    redis.call('RPUSH', key, now)
    redis.call('PEXPIRE', key, ARGV[i * 2])
    c[1] = c[1] + 1
  end
  answer[#answer + 1] = c[3] and -1 or c[1]
  answer[#answer + 1] = c[2]
end
return answer`

/**
 * Counts requests in Redis, one round trip for all windows of a request. While Redis is away it counts in this
 * process, so the service stays protected though each process then has a window of its own.
 */
export class RateWindows {
  readonly #redis: RedisLink
  readonly #run: (keys: string[], args: (string | number)[]) => Promise<unknown>
  readonly #local = new LocalWindows()
  readonly #onLocal: () => void

  constructor(options: { redis: RedisLink; onLocal: () => void }) {
    this.#redis = options.redis
    this.#onLocal = options.onLocal
    this.#run = options.redis.defineScript('countInWindows', countInWindowsScript)
  }

  async count(windows: readonly Window[]): Promise<WindowState[]> {
    const keys = windows.map((window) => `rate:${window.key}`)
    const args = windows.flatMap((window) => [window.max, window.windowMs])
    const answer = (await this.#redis.attempt(() => this.#run(keys, args))) as number[] | undefined
    if (answer)
      return windows.map((window, i) => stateOf(window, answer[i * 2] ?? -1, answer[i * 2 + 1] ?? 0))
    this.#onLocal()
    return this.#local.count(windows)
  }
}

function stateOf(window: Window, count: number, resetMs: number): WindowState {
  const allowed = count >= 0
  return { allowed, remaining: allowed ? Math.max(0, window.max - count) : 0, resetMs }
}

const maxLocalWindows = 50_000

class LocalWindows {
  readonly #times = new Map<string, number[]>()

  count(windows: readonly Window[]): WindowState[] {
    const now = Date.now()
    const logs = windows.map((window) => this.#recent(window, now))
    const full = windows.some((window, i) => (logs[i]?.length ?? 0) >= window.max)
    return windows.map((window, i) => {
      const log = logs[i] ?? []
      const resetMs = log.length > 0 ? (log[0] ?? now) + window.windowMs - now : window.windowMs
      if (log.length >= window.max) return stateOf(window, -1, resetMs)
      if (!full) log.push(now)
      return stateOf(window, log.length, resetMs)
    })
  }

  #recent(window: Window, now: number): number[] {
    const kept = (this.#times.get(window.key) ?? []).filter((time) => time > now - window.windowMs)
    this.#times.delete(window.key)
    this.#times.set(window.key, kept)
    if (this.#times.size > maxLocalWindows) this.#times.delete(this.#times.keys().next().value ?? '')
    return kept
  }
}
