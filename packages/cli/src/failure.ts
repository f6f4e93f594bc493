import { type ExitCode, exit } from './exit-codes.ts'

export interface FailureFields {
  exitCode: ExitCode
  message: string
  /** Commands that can be pasted. */
  next?: readonly string[]
  code?: string
  status?: number
  requestId?: string
  details?: unknown
  cause?: unknown
}

/** What went wrong, in the words of the person at the keyboard, and what to do next. */
export class Failure extends Error {
  readonly exitCode: ExitCode
  readonly next: readonly string[]
  readonly code: string
  readonly status: number | undefined
  readonly requestId: string | undefined
  readonly details: unknown

  constructor(fields: FailureFields) {
    super(fields.message, { cause: fields.cause })
    this.name = 'Failure'
    this.exitCode = fields.exitCode
    this.next = fields.next ?? []
    this.code = fields.code ?? codeOfExit[fields.exitCode] ?? 'FAILED'
    this.status = fields.status
    this.requestId = fields.requestId
    this.details = fields.details
  }

  /** As it stands on stderr with --json. */
  toJSON() {
    const { code, message, status, requestId, details, exitCode, next } = this
    return { error: { code, message, status, requestId, details, exitCode, next } }
  }
}

const codeOfExit: Partial<Record<ExitCode, string>> = {
  2: 'USAGE',
  3: 'NOT_FOUND',
  4: 'NOT_SIGNED_IN',
  5: 'FORBIDDEN',
  6: 'WAITING',
  11: 'NOT_REACHED',
  12: 'CONFLICT',
  13: 'NOT_VALID',
  70: 'BUG',
  130: 'INTERRUPTED',
  143: 'TERMINATED',
}

export function usage(message: string, ...next: string[]): Failure {
  return new Failure({ exitCode: exit.usage, message, next })
}

/** What nobody foresaw. */
export function bug(error: unknown): Failure {
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return new Failure({
    exitCode: exit.bug,
    message: `This is a bug in guild: ${message}`,
    next: ['guild doctor --bundle report.json   (no secrets stand in it)'],
    cause: error,
  })
}
