import { parseRowId } from '#platform/ids.ts'
import { ApiError } from './errors.ts'

/** A path id that cannot be a row's is as missing as one that is not. */
export function requireRowId(text: string): number {
  const id = parseRowId(text)
  if (id === undefined) throw new ApiError('NOT_FOUND')
  return id
}
