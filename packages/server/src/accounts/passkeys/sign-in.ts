import { isSignInFresh } from '#accounts/sessions/sessions.ts'
import { ApiError } from '#operations/errors.ts'
import type { Principal } from '#operations/principal.ts'
import type { Tx } from '#platform/database.ts'

/** Where no passkey vouches for the person, their provider must have, a moment ago. */
export async function requireFreshSignIn(tx: Tx, { credentialId }: Principal): Promise<void> {
  if (await isSignInFresh(tx, credentialId)) return
  throw new ApiError('FORBIDDEN', {
    message: 'Without a passkey this needs a sign-in of the last ten minutes; sign in again',
    details: { reason: 'SIGN_IN_TOO_OLD', sign_in_url: '/api/v1/auth/start' },
  })
}
