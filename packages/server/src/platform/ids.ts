import { randomInt } from 'node:crypto'

/** Unbiased: `randomInt` draws from the system's secure source and rejects what would skew it. */
export function randomText(alphabet: string, length: number): string {
  let text = ''
  for (let i = 0; i < length; i++) text += alphabet[randomInt(alphabet.length)]
  return text
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return uuidPattern.test(text)
}

/** A numeric row id as it came in a path, or undefined when no row can have it. */
export function parseRowId(text: string): number | undefined {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(id) ? id : undefined
}
