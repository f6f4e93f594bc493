import { usage } from '../failure.ts'

const unitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `90`, `90s`, `10m`, `2h`, `90d`; a bare number is seconds. */
export function readDuration(text: string, flag: string): number {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)?$/.exec(text.trim())
  if (!match) throw usage(`${flag} takes a time such as 90s, 10m or 2h, not "${text}".`)
  return Math.round(Number(match[1]) * (unitMs[match[2] ?? 's'] ?? 1000))
}

/** 8 ms, 2.1 s, 1m 12s, 2h 05m */
export function lasted(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${pad(seconds % 60)}s`
  return `${Math.floor(seconds / 3600)}h ${pad(Math.floor((seconds % 3600) / 60))}m`
}

/** 9:41, for what is left of a wait. */
export function left(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  return `${Math.floor(seconds / 60)}:${pad(seconds % 60)}`
}

/** 4s ago, 2m ago, 3h ago, 5d ago */
export function ago(moment: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(moment)) / 1000))
  if (Number.isNaN(seconds)) return moment
  if (seconds < 60) return `${seconds}s ago`
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h ago`
  return `${Math.floor(seconds / 86_400)}d ago`
}

function pad(value: number): string {
  return String(value).padStart(2, '0')
}
