import { ApiError, ConflictError, ExpiredError, NotFoundError } from '@guildhall/sdk/core'
import { words } from '../words.ts'
import { PasskeyError } from './passkey-error.ts'

/** Whether somebody was first, or the time is over: then there is nothing left to decide. */
export const isSettled = (error: unknown) =>
  ConflictError.is(error) || ExpiredError.is(error) || NotFoundError.is(error)

/** The server says that a passkey is needed, whatever the page thought. */
export const wantsPasskey = (error: unknown) =>
  ApiError.is(error) && error.status === 403 && error.details['device_auth_required'] === true

/** What went wrong, in a sentence for the person. */
export function sentenceOf(error: unknown): string {
  if (error instanceof PasskeyError) {
    return {
      canceled: words.passkey.canceled,
      unsupported: words.passkey.unsupported,
      exists: words.passkeyExists,
    }[error.reason]
  }
  if (wantsPasskey(error)) return words.passkey.refused
  if (ApiError.is(error) && error.status < 500 && error.status !== 429) return error.message
  return words.failed(ApiError.is(error) ? error.requestId : undefined)
}
