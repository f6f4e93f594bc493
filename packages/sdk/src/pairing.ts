import { Client, type ClientOptions } from './client.ts'
import { ConnectionError, NotActivatedError, RateLimitError, ServerError } from './errors.ts'
import { createActivation, pollActivation } from './generated/pairings.ts'
import { getAgentSelf } from './generated/permissions.ts'
import type { WorkspaceRef } from './generated/records.ts'
import { PairingError } from './helper-errors.ts'
import { pause } from './retry.ts'

/** What a person needs to confirm a pairing. */
export interface PairingCode {
  /** To be typed, or compared. */
  readonly userCode: string
  readonly verificationUrl: string
  /** With the code in it, for links and QR codes. */
  readonly verificationUrlComplete: string
  readonly expiresAt: Date
}

/** A pairing that has begun. It is a secret: whoever holds it gets the key. */
export interface PairingState extends PairingCode {
  readonly baseUrl: string
  readonly deviceCode: string
  readonly intervalMs: number
}

/** What a pairing gives. */
export interface Paired {
  readonly apiKey: string
  readonly workspace: WorkspaceRef | undefined
  readonly tier: string | undefined
  /** False when the key may do nothing yet: ask with `permissions.connect`. */
  readonly activated: boolean
}

/** Where and as what to pair. */
export interface PairingOptions extends Pick<ClientOptions, 'baseUrl' | 'fetch' | 'userAgent'> {
  /** What the person sees: "nightly bot on build-7". */
  readonly label?: string | undefined
  /** What to ask for on the card of the pairing; the person grants some, all or none of them. */
  readonly scopes?: readonly string[] | undefined
  readonly signal?: AbortSignal | undefined
}

/** Pairs this program with a person's workspace: shows a code, waits for the person, gives the key. */
export async function pair(
  options: PairingOptions & { readonly onCode: (code: PairingCode) => void },
): Promise<Paired> {
  const state = await startPairing(options)
  options.onCode(state)
  return finishPairing(state, options)
}

/** The first half, for programs that must return between showing the code and waiting. */
export async function startPairing(options: PairingOptions): Promise<PairingState> {
  const client = new Client({ ...options, apiKey: undefined, credential: nobody })
  const headers = options.label ? { 'x-client-label': options.label } : undefined
  const body = options.scopes?.length ? { requested_scopes: [...options.scopes] } : {}
  const begun = await client.call(createActivation, { body }, { signal: options.signal, headers })
  return {
    baseUrl: client.baseUrl,
    deviceCode: begun.device_code,
    userCode: begun.user_code,
    verificationUrl: begun.verification_url,
    verificationUrlComplete: begun.verification_url_complete,
    expiresAt: new Date(Date.now() + begun.expires_in * 1000),
    intervalMs: begun.interval * 1000,
  }
}

/** How long the server may hold a poll open: the decision is then told at once. */
const heldSeconds = 25

/** The second half: waits for the person's decision. */
export async function finishPairing(
  state: PairingState,
  options: Omit<PairingOptions, 'baseUrl' | 'label' | 'scopes'> = {},
): Promise<Paired> {
  const { signal, fetch, userAgent } = options
  const setting = { baseUrl: state.baseUrl, fetch, userAgent }
  const client = new Client({ ...setting, credential: nobody, maxRetries: 0 })
  const body = { device_code: state.deviceCode, wait: heldSeconds }
  let intervalMs = state.intervalMs
  for (let first = true; ; first = false) {
    // Whatever the server says: not without a break, and not for ever.
    if (!first) await pause(Math.min(60_000, Math.max(1000, intervalMs || 0)), signal)
    const polled = await client.call(pollActivation, { body }, { signal }).catch((error: unknown) => {
      if (RateLimitError.is(error)) intervalMs += 1000
      else if (!ConnectionError.is(error) && !ServerError.is(error)) throw error
      // Whoever cannot ask any more must not wait for ever.
      return { status: Date.now() > new Date(state.expiresAt).getTime() ? 'expired' : 'pending' } as const
    })
    if (polled.status === 'approved' && 'api_key' in polled && polled.api_key) {
      const activated = await isActive(new Client({ ...setting, apiKey: polled.api_key }), signal)
      return { apiKey: polled.api_key, workspace: polled.workspace, tier: polled.tier, activated }
    }
    const sentence = ends[polled.status as keyof typeof ends]
    if (sentence) throw new PairingError(sentence, polled.status as keyof typeof ends)
  }
}

const ends = {
  denied: 'The person refused the pairing',
  expired: 'Nobody confirmed the pairing in time: start again',
  consumed: 'The key was handed out, perhaps in an answer that got lost: revoke it in the app and pair again',
}

/** Nothing here needs a credential, and none of the environment must be sent by mistake. */
function nobody(): never {
  throw new Error('Pairing is done without a credential')
}

async function isActive(client: Client, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    await client.call(getAgentSelf, {}, { signal })
    return true
  } catch (error) {
    // Whatever else it is, the key must not get lost for it.
    return !NotActivatedError.is(error)
  }
}
