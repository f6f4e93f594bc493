import { createHash } from 'node:crypto'
import { accessOf, type KeyWish } from '@guildhall/contract'
import canonicalize from 'canonicalize'
import { normalizeUserCode } from '../platform/user-code.ts'

/** What an assertion is for. Equal for the one who asks for the challenge and the one who acts on it, or refused. */
export type Subject = { readonly purpose: string; readonly [field: string]: unknown }

export const registerSubject: Subject = { purpose: 'register' }

export function removeSubject(passkeyId: string): Subject {
  return { purpose: 'remove', passkeyId }
}

export function createKeySubject(wish: KeyWish): Subject {
  return { purpose: 'create-key', access: accessOf(wish), scopes: [...new Set(wish.scopes)].sort() }
}

/** The code as the person typed it, in whichever way. */
export function confirmSubject(typedCode: string, access: 'full' | 'declared'): Subject {
  return { purpose: 'confirm', code: normalizeUserCode(typedCode), access }
}

/** The order in which fields were written says nothing; the order of a list does (RFC 8785). */
export function hashSubject(subject: Subject): Buffer {
  return createHash('sha256')
    .update(canonicalize(subject) as string)
    .digest()
}
