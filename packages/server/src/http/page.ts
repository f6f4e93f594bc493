import { ApiError } from './api-error.ts'

/** A keyset cursor is the sort key of the last row, opaque to the client. */
export function encodeCursor(key: readonly string[]): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url')
}

export function decodeCursor(cursor: string, parts: number): string[] {
  try {
    const key = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown
    if (Array.isArray(key) && key.length === parts && key.every((part) => typeof part === 'string'))
      return key
  } catch {
    // Falls through to the refusal: whatever it was, we did not make it.
  }
  throw new ApiError('INVALID_INPUT', { message: 'cursor: not one this list handed out' })
}
