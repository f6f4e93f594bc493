import { createHash } from 'node:crypto'
import { accessOf, type KeyWish } from '@guildhall/contract'
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

export function hashSubject(subject: Subject): Buffer {
  return createHash('sha256').update(canonicalJson(subject)).digest()
}

/** The order in which fields were written says nothing; the order of a list does. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) => (isRecord(part) ? sortFields(part) : part))
}

function sortFields(record: Record<string, unknown>): Record<string, unknown> {
  // Without a prototype, or a field named __proto__ would vanish from what is compared.
  const sorted: Record<string, unknown> = Object.create(null)
  for (const name of Object.keys(record).sort()) sorted[name] = record[name]
  return sorted
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
