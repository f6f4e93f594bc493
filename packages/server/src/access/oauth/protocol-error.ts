import type { ApiError } from '#operations/errors.ts'
import type { RawAnswer } from '#transports/http/raw-route.ts'

/** A refusal in the words of OAuth. */
export function protocolError({ code, status, message }: ApiError): RawAnswer {
  const away = status === 503 || code === 'RATE_LIMITED'
  const error = away ? 'temporarily_unavailable' : status >= 500 ? 'server_error' : 'invalid_request'
  return writeError(error, message)
}

export function writeError(error: string, description: string): RawAnswer {
  return {
    type: 'application/json; charset=utf-8',
    body: JSON.stringify({ error, error_description: description }),
  }
}
