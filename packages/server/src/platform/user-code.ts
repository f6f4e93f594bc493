import { randomText } from './ids.ts'

/** Capitals without I and O, digits without 0 and 1: what cannot be misread. 32 symbols, 40 bits in eight. */
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

export function mintUserCode(): string {
  return `${randomText(alphabet, 4)}-${randomText(alphabet, 4)}`
}

/** People type codes in any case, with blanks where they like and the hyphen or without it. */
export function normalizeUserCode(typed: string): string {
  const symbols = typed.replace(/[\s\p{Pd}]/gu, '').toUpperCase()
  return symbols.length === 8 ? `${symbols.slice(0, 4)}-${symbols.slice(4)}` : symbols
}
