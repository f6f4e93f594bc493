import type { Writable } from 'node:stream'
import { type DestinationStream, type Logger, pino } from 'pino'
import { withoutSecrets } from './secrets.ts'

export type { Logger } from 'pino'

/**
 * Structured logs on standard output. Secrets are taken out of the finished line, whatever field, error text or
 * header brought them there: at the sink nothing can be forgotten.
 */
export function createLogger(level: string, destination: Writable = process.stdout): Logger {
  const sink: DestinationStream = { write: (line) => void destination.write(redact(line)) }
  return pino({ level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime }, sink)
}

const headerPattern =
  /("(?:x-api-key|x-auth-token|authorization|cookie|set-cookie)":)("(?:[^"\\]|\\.)*"|\[(?:"(?:[^"\\]|\\.)*",?)*\])/gi
/** An address up to where it must have ended; taken whole, so that no part of a line is read twice. */
const addressPattern = /:\/\/[^\s"]+/g
const passwordPattern = /(:\/\/[^:/]*:).+$/s

export function redact(line: string): string {
  return withoutSecrets(line).replace(headerPattern, '$1"[redacted]"').replace(addressPattern, hidePasswords)
}

function hidePasswords(address: string): string {
  const parts = address.split('@')
  const host = parts.pop() ?? ''
  return [...parts.map((part) => part.replace(passwordPattern, '$1[redacted]')), host].join('@')
}
