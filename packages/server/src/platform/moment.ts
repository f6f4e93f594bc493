const spelling = /^(\d{4}-\d\d-\d\d)(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d\d:?\d\d))?$/

/**
 * A day, or a moment with its zone, in the one spelling that is stored and compared. Undefined for what the calendar does
 * not have and for what falls outside the years 1 to 9999: PostgreSQL and ISO 8601 spell those differently.
 */
export function readMoment(text: string): string | undefined {
  const day = spelling.exec(text)?.[1]
  if (day === undefined || !isoOf(day)?.startsWith(day)) return undefined
  const iso = isoOf(text)
  return iso?.length === 24 && !iso.startsWith('0000') ? iso : undefined
}

/** JavaScript moves the 30th of February to March. */
function isoOf(text: string): string | undefined {
  const time = new Date(text)
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString()
}
