export function stateOf(error: unknown): string {
  return String((error as { code?: unknown }).code ?? '')
}

/** Whether an error says that the database could not be reached, rather than that it refused a statement. */
export function isDatabaseAway(error: unknown): boolean {
  const code = stateOf(error)
  if (/^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)/.test(code)) return true
  // Connection exceptions, shutdowns, "starting up", "too many connections" and a transaction that stood still for too long.
  if (/^(08...|57P0[1-4]|53300|25P03)$/.test(code)) return true
  const message = error instanceof Error ? error.message : ''
  return /Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client was closed|not queryable|driver has already been destroyed/.test(
    message,
  )
}

/** Whether the same statement may well be taken a little later: nobody refused it for what it says. */
export function isPassing(error: unknown): boolean {
  // Serialization, deadlock, a lock that was not to be had in time, a statement that took too long.
  return isDatabaseAway(error) || /^(40001|40P01|55P03|57014)$/.test(stateOf(error))
}

/** Whether a value is none that the database keeps, as a text with a NUL: it will not be one the next time either. */
export function isUnstorable(error: unknown): boolean {
  return stateOf(error).startsWith('22')
}

/** Whether a lock that was asked for without waiting is held by somebody else. */
export function isLocked(error: unknown): boolean {
  return stateOf(error) === '55P03'
}

/** Whether there is a row already that may be there once. */
export function isTaken(error: unknown): boolean {
  return stateOf(error) === '23505'
}

/** Whether what a row refers to is not there any more. */
export function isOrphan(error: unknown): boolean {
  return stateOf(error) === '23503'
}
