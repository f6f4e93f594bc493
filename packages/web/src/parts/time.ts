const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** What is left, as a clock shows it; hours and days when it is much. */
export function leftIn(ms: number): string {
  if (ms >= 2 * day) return `${Math.floor(ms / day)} days`
  if (ms > hour) return `${Math.floor(ms / hour)} h`
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

export function ago(moment: string, now: number): string {
  const ms = now - Date.parse(moment)
  if (ms < minute) return 'just now'
  if (ms < hour) return relative.format(-Math.floor(ms / minute), 'minute')
  if (ms < day) return relative.format(-Math.floor(ms / hour), 'hour')
  return relative.format(-Math.floor(ms / day), 'day')
}

const dates = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long' })
const clocks = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const amounts = new Intl.NumberFormat('en', { minimumFractionDigits: 0, maximumFractionDigits: 3 })

export const dateOf = (moment: string) => dates.format(new Date(moment))
export const clockOf = (moment: string | number) => clocks.format(new Date(moment))
/** Every amount of money: exact, with its unit. */
export const amountOf = (ds: number) => `${amounts.format(ds)} Ds`
