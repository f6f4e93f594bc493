import { createHash } from 'node:crypto'
import { accessOf, type GrantMode, type KeyInput } from '@guildhall/contract'
import { canonical } from '#platform/canonical.ts'
import { normalizeUserCode } from '#platform/user-code.ts'

/** What an assertion is for. Equal for the one who asks for the challenge and the one who acts on it, or refused. */
export type Subject = { readonly purpose: string; readonly [field: string]: unknown }

export const registerSubject: Subject = { purpose: 'register' }
export const inviteSubject: Subject = { purpose: 'invite' }
export const recoveryCodesSubject: Subject = { purpose: 'recovery-codes' }
export const cancelResetSubject: Subject = { purpose: 'cancel-reset' }

export function removeSubject(passkeyId: string): Subject {
  return { purpose: 'remove', passkeyId }
}

export function createKeySubject(input: KeyInput): Subject {
  return { purpose: 'create-key', access: accessOf(input), scopes: [...new Set(input.scopes)].sort() }
}

/** The code as the person typed it, in whichever way. What is granted with the pairing is a part of what is signed. */
export function confirmSubject(
  typedCode: string,
  access: 'full' | 'declared',
  granted: Readonly<Record<string, GrantMode>> = {},
): Subject {
  const subject = { purpose: 'confirm', code: normalizeUserCode(typedCode), access }
  return Object.keys(granted).length === 0 ? subject : { ...subject, modes: granted }
}

/** In which mode each of these scopes is granted: as the person chose, else for good. */
export function modesOf(
  scopes: readonly string[],
  modes: Readonly<Record<string, GrantMode>> = {},
  otherwise: GrantMode = 'persistent',
): Record<string, GrantMode> {
  return Object.fromEntries([...new Set(scopes)].sort().map((scope) => [scope, modes[scope] ?? otherwise]))
}

/** The order in which fields were written says nothing; the order of a list does. */
export function hashSubject(subject: Subject): Buffer {
  return createHash('sha256').update(canonical(subject)).digest()
}
