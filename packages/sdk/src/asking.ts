import type { Client } from './client.ts'
import { connectAgent, pollConsent } from './generated/consents.ts'
import { pollPermission, requestPermission } from './generated/permissions.ts'
import type { Action } from './generated/records.ts'
import { PermissionDeniedError, PermissionTimeoutError } from './helper-errors.ts'
import type { PermissionOptions } from './options.ts'
import { pause } from './retry.ts'

/** What is asked for, and how. */
export interface AskOptions extends PermissionOptions {
  /** What the agent means to do, shown to the person. */
  readonly action?: Action | undefined
  readonly signal?: AbortSignal | undefined
}

const defaultReason = 'The agent needs it for what it was asked to do'
const longPollSeconds = 25

/**
 * Asks a person for scopes and waits. One scope is a question of its own; several are one card instead of many, and what
 * is granted there is granted for good, unless the person chooses otherwise.
 */
export async function askForScopes(
  client: Client,
  scopes: readonly string[],
  options: AskOptions = {},
): Promise<void> {
  const [only, ...others] = scopes
  if (only === undefined) return
  if (others.length > 0) return connect(client, scopes, options)
  const { reason = defaultReason, mode, action, onAsk, signal } = options
  const asked = await client.call(
    requestPermission,
    { body: { scope: only, reason, mode, action } },
    { signal },
  )
  if (asked.status === 'already_granted') return
  const { request_id: requestId, approval_url: url } = asked
  onAsk?.({ scopes, requestId, url })
  await waitForPermission(client, requestId, options)
}

/** Declares the scopes that the key needs, and waits for the person. */
export async function connect(
  client: Client,
  scopes: readonly string[],
  options: AskOptions = {},
): Promise<void> {
  const { onAsk, signal } = options
  const asked = await client.call(connectAgent, { body: { requestedScopes: [...scopes] } }, { signal })
  if (asked.status === 'active') return
  const { consent_id: consentId, link_code: linkCode, approval_url: url } = asked
  onAsk?.({ scopes, linkCode, url })
  await granted(consentId, options, (wait) => {
    return client.call(pollConsent, { params: { consentId }, query: { wait } }, { signal, maxRetries: 5 })
  })
}

/** Waits for the answer to a question that was asked before. */
export function waitForPermission(
  client: Client,
  requestId: string,
  options: AskOptions = {},
): Promise<void> {
  const { signal } = options
  return granted(requestId, options, (wait) => {
    return client.call(pollPermission, { params: { requestId }, query: { wait } }, { signal, maxRetries: 5 })
  })
}

interface Polled {
  readonly status: string
  readonly deny_reason?: string
}

async function granted(
  id: string,
  options: AskOptions,
  poll: (wait: number) => Promise<Polled>,
): Promise<void> {
  const { status, deny_reason: reason } = await decided(id, options, poll)
  if (status === 'denied')
    throw new PermissionDeniedError(`The person said no${reason ? `: ${reason}` : ''}`, reason)
}

/** Polls until a person has decided; what they decided is the caller's concern. */
export async function decided<P extends Polled>(
  id: string,
  { waitMs = 600_000 }: { readonly waitMs?: number | undefined },
  poll: (wait: number) => Promise<P>,
): Promise<P> {
  const until = performance.now() + waitMs
  for (;;) {
    const asked = performance.now()
    const left = Math.max(0, until - asked)
    const polled = await poll(Math.min(longPollSeconds, Math.ceil(left / 1000)))
    if (polled.status === 'expired') throw new PermissionTimeoutError('The question has expired', id)
    if (polled.status !== 'pending') return polled
    if (left === 0) throw new PermissionTimeoutError('Nobody has decided yet', id)
    // A server that holds no poll open is not asked without a break.
    await pause(asked + 1000 - performance.now())
  }
}
