import type { ErrorCode } from '@guildhall/contract'
import { ApiError } from '#operations/errors.ts'

const reason = 'STORAGE_UNAVAILABLE'

/** Nothing was referred to yet, so nothing is lost: the client tries again. */
export function storageAway(error: unknown): never {
  throw new ApiError('SERVICE_UNAVAILABLE', { cause: error, details: { reason }, retryAfterSeconds: 1 })
}

/** For what the interface has an error of its own when it fails: the same reason under that. */
export async function failingAs<T>(code: ErrorCode, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const isAway = error instanceof ApiError && error.details?.['reason'] === reason
    if (!isAway) throw error
    throw new ApiError(code, { cause: error.cause, details: { reason }, retryAfterSeconds: 1 })
  }
}

export function missingContent({ checksum }: { readonly checksum: string }): Error {
  return new Error(`The content ${checksum} is referred to but not in the store`)
}
