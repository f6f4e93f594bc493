import {
  ApiError,
  AuthenticationError,
  BusyError,
  ConfigurationError,
  ConflictError,
  ConnectionError,
  ExpiredError,
  InsufficientCreditsError,
  InvalidInputError,
  MissingScopeError,
  NotActivatedError,
  NotFoundError,
  PairingError,
  PermissionDeniedError,
  PermissionTimeoutError,
  RateLimitError,
  WrongCredentialError,
} from '@guildhall/sdk'
import type { Context } from './context.ts'
import { type ExitCode, exit } from './exit-codes.ts'
import { Failure } from './failure.ts'

interface Verdict {
  exitCode: ExitCode
  message?: string
  next: readonly string[]
}

/** What the SDK threw, as a sentence, an exit code and what to do next. Undefined: nothing of the SDK's. */
export function failureOf(error: unknown, context?: Context): Failure | undefined {
  if (ApiError.is(error)) {
    const { status, code, requestId, details } = error
    const verdict = ofRefusal(error, context)
    return new Failure({
      status,
      code,
      message: error.message,
      ...(requestId ? { requestId } : {}),
      details,
      cause: error,
      ...verdict,
    })
  }
  const verdict = ofTrouble(error, context) ?? ofFile(error)
  if (!verdict || !(error instanceof Error)) return undefined
  return new Failure({ message: error.message, code: codeOf(error), cause: error, ...verdict })
}

function codeOf(error: Error): string {
  return 'path' in error && 'code' in error ? String(error.code) : error.name
}

function ofRefusal(error: ApiError, context: Context | undefined): Verdict {
  // Asked as unknown: the kinds have the same members, and a check would narrow the rest away.
  const kind: unknown = error
  const address = context?.settings.baseUrl ?? 'https://guild.example'
  if (MissingScopeError.is(kind)) {
    const scopes = kind.missingScopes.join(' ')
    return {
      exitCode: exit.notAllowed,
      message: `This key lacks ${kind.missingScopes.join(', ')}.`,
      next: [`guild perms ask ${scopes} --reason "…" --wait`, 'run it again with --ask="why"'],
    }
  }
  if (NotActivatedError.is(kind)) {
    return {
      exitCode: exit.notSignedIn,
      message: 'This key may do nothing yet: a person has to consent first.',
      next: ['guild perms declare agent:list profile:read --wait'],
    }
  }
  if (AuthenticationError.is(kind)) {
    return { exitCode: exit.notSignedIn, next: [`guild login ${address}`, 'guild auth status'] }
  }
  if (WrongCredentialError.is(kind)) {
    return {
      exitCode: exit.notSignedIn,
      next: ['do it in the app', `guild help ${context?.command.name ?? ''}`.trim()],
    }
  }
  if (error.status === 403) return { exitCode: exit.notAllowed, next: linksOf(error) }
  if (NotFoundError.is(kind)) return { exitCode: exit.notFound, next: listingOf(context) }
  if (InsufficientCreditsError.is(kind)) return { exitCode: exit.money, next: ['guild billing'] }
  if (BusyError.is(kind)) {
    const running = error.details['executionId']
    return {
      exitCode: exit.busy,
      next: [
        ...(typeof running === 'string' ? [`guild exec watch ${running}`] : []),
        'run it again with --queue',
      ],
    }
  }
  if (RateLimitError.is(kind)) {
    return { exitCode: exit.rateLimited, next: [`wait ${error.retryAfterSeconds ?? 60} s and run it again`] }
  }
  if (ConflictError.is(kind) || ExpiredError.is(kind))
    return { exitCode: exit.conflict, next: linksOf(error) }
  if (InvalidInputError.is(kind)) {
    const issues = kind.issues.map(({ path, message }) => [path, message].filter(Boolean).join(': '))
    return {
      exitCode: exit.notValid,
      message: [error.message, ...issues].join(' · '),
      next: [`guild help ${context?.command.name ?? ''}`.trim()],
    }
  }
  if (error.code === 'UNEXPECTED_ANSWER') {
    return {
      exitCode: exit.notReached,
      message: `No Guildhall answers at ${address}.`,
      next: ['guild doctor'],
    }
  }
  const away = [502, 503, 504].includes(error.status)
  return { exitCode: away ? exit.notReached : exit.failed, next: ['guild doctor'] }
}

function ofTrouble(error: unknown, context: Context | undefined): Verdict | undefined {
  const again = `guild ${context?.command.name ?? 'help'}`
  if (PermissionDeniedError.is(error)) {
    const reason = error.denyReason ? `Denied: "${error.denyReason}"` : 'Denied.'
    return { exitCode: exit.notAllowed, message: reason, next: ['talk to the person, or do it another way'] }
  }
  if (PermissionTimeoutError.is(error)) {
    const next = error.requestId ? [`guild perms wait ${error.requestId}`] : [`${again} --ask --wait 30m`]
    return { exitCode: exit.waits, message: 'No person has decided yet.', next }
  }
  if (PairingError.is(error)) {
    const exits = { denied: exit.notAllowed, expired: exit.waits, consumed: exit.conflict }
    return { exitCode: exits[error.status], next: ['guild login'] }
  }
  if (ConnectionError.is(error)) {
    return { exitCode: exit.notReached, next: ['guild doctor', 'run it again'] }
  }
  if (ConfigurationError.is(error))
    return { exitCode: exit.notSignedIn, next: ['guild auth status', 'guild doctor'] }
  return undefined
}

const fileTroubles: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'that is not allowed to you',
  EPERM: 'that is not allowed to you',
  EISDIR: 'it is a folder',
  ENOTDIR: 'it is no folder',
  EEXIST: 'it is there already',
  ELOOP: 'it is a link',
  EROFS: 'nothing can be written there',
  ENOSPC: 'the disk is full',
}

/** A file that the command was told about. */
function ofFile(error: unknown): Verdict | undefined {
  if (!(error instanceof Error && 'path' in error && 'code' in error)) return undefined
  const why = fileTroubles[String(error.code)]
  if (!why) return undefined
  return { exitCode: exit.notValid, message: `${error.path}: ${why}.`, next: [`ls -ld ${error.path}`] }
}

function linksOf(error: ApiError): string[] {
  const link = error.details['approval_url'] ?? error.details['activation_url']
  return typeof link === 'string' ? [`open ${link}`] : []
}

/** Where a person looks for the right name. */
function listingOf(context: Context | undefined): string[] {
  const [group] = context?.command.name.split(' ') ?? []
  const lists: Record<string, string> = {
    run: 'guild skills list',
    skills: 'guild skills list',
    exec: 'guild exec list',
    wf: 'guild wf list',
    trace: 'guild trace list',
    approvals: 'guild approvals list',
    keys: 'guild keys list',
  }
  const list = group === undefined ? undefined : lists[group]
  return list ? [list] : []
}
