import { randomText } from '../platform/ids.ts'

/** Capitals without I and O, digits without 0 and 1: what cannot be misread. 32 symbols, 40 bits in eight. */
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

export function mintUserCode(): string {
  return `${randomText(alphabet, 4)}-${randomText(alphabet, 4)}`
}

/** People type codes with blanks around them and in any case. */
export function normalizeUserCode(typed: string): string {
  return typed.trim().toUpperCase()
}
