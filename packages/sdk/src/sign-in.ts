/** A person's sign-in, with a challenge whose verifier never leaves the program. Nothing is stored. */
import { Client, type ClientOptions } from './client.ts'
import type { SignedIn } from './generated/records.ts'
import { exchangeSignIn } from './generated/session.ts'
import { queryOf } from './operation.ts'
import { challengeOf, randomVerifier } from './pkce.ts'

/** A sign-in that has begun. `verifier` is a secret. */
export interface SignIn {
  /** To be opened in the person's browser. */
  readonly url: string
  readonly verifier: string
}

/** Where to send the person's browser, and what to keep meanwhile. */
export async function begin(options: {
  readonly baseUrl: string
  /** Where the browser comes back to with a code; the deployment must allow it. */
  readonly redirect?: string
  readonly provider?: string
}): Promise<SignIn> {
  const { baseUrl, redirect, provider } = options
  const verifier = randomVerifier()
  const client = new Client({ baseUrl, credential: nobody })
  const query = queryOf({ provider, redirect, challenge: await challengeOf(verifier) })
  return { url: `${client.baseUrl}/api/v1/auth/start${query}`, verifier }
}

/** Turns the code that the browser came back with into a session. */
export function finish(
  options: Pick<ClientOptions, 'baseUrl' | 'fetch'> & {
    readonly code: string
    readonly verifier: string
    /** What the session is called in the person's list. */
    readonly label?: string
    /** How long it lives at most, whether it is used or not. */
    readonly lifetimeSeconds?: number
  },
): Promise<SignedIn> {
  const { baseUrl, fetch, ...body } = options
  const settings = { baseUrl, credential: nobody, ...(fetch && { fetch }) }
  return new Client(settings).call(exchangeSignIn, { body })
}

function nobody(): never {
  throw new Error('Signing in is done without a credential')
}
