import { readFileSync } from 'node:fs'

type StartErrorDetails = { logFile?: string; hint?: string; cause?: unknown }

const tailLines = 20

/** A failed start, told for the person at the terminal: what, the end of the log, what to do. */
export class StartError extends Error {
  override name = 'StartError'

  constructor(what: string, { logFile, hint, cause }: StartErrorDetails = {}) {
    const parts = [what]
    if (logFile) parts.push(logTail(logFile))
    if (hint) parts.push(`What to do: ${hint}`)
    super(parts.join('\n'), { cause })
  }
}

export class NotReadyError extends StartError {
  override name = 'NotReadyError'
}

/** The folder is removed when the start fails, so what its logs say has to be said now. */
export function logTail(logFile: string): string {
  const lines = readLog(logFile).trimEnd().split('\n').slice(-tailLines)
  if (lines.join('') === '') return `  (${logFile} is empty)`
  return [`  the last lines of ${logFile}:`, ...lines.map((line) => `  | ${line}`)].join('\n')
}

export function readLog(logFile: string, fromByte = 0): string {
  try {
    return readFileSync(logFile).subarray(fromByte).toString('utf8')
  } catch {
    return ''
  }
}
