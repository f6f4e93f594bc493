import type { Tx } from '#platform/database.ts'
import { toPrintable } from '#platform/printable.ts'
import type { Mode } from '#platform/tables.ts'
import * as store from './store.ts'

export { foldAddress } from './address.ts'
export { findUser, findUserByIdentity, findUserByVerifiedEmail, lockUser, updateUser } from './store.ts'

export interface User {
  id: string
  email: string | null
  name: string | null
  mode: Mode
}

/** What an identity provider says about a person. */
export interface Identity {
  issuer: string
  subject: string
  email: string | null
  emailVerified: boolean
  name: string | null
}

const modeOfNewUsers: Mode = 'paygmode'

/**
 * Makes the account of a person who was never here. Undefined when a sign-in running beside this one was first:
 * roll back and look the identity up again.
 */
export async function createUser(
  tx: Tx,
  identity: Identity,
  mode: Mode = modeOfNewUsers,
): Promise<User | undefined> {
  const user = await store.insertUser(tx, {
    email: identity.email?.trim() ?? null,
    email_verified: identity.emailVerified,
    // A provider passes on what the person typed there.
    name: (identity.name && toPrintable(identity.name, 200)) || null,
    mode,
  })
  const { issuer, subject } = identity
  const claimed = await store.insertIdentity(tx, { issuer, subject, user_id: user.id })
  return claimed ? user : undefined
}
