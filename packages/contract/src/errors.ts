/**
 * Every error code the service answers with, its status and its default sentence. The status lives here
 * and nowhere else, so that a code can never travel with two different ones by accident.
 */
export const errorTable = {
  UNAUTHORIZED: { status: 401, message: 'Missing auth token' },
  FORBIDDEN: { status: 403, message: 'This credential may not do that' },
  ACTIVATION_REQUIRED: { status: 409, message: 'This key is not activated yet: connect it first' },
  NOT_FOUND: { status: 404, message: 'Not found' },
  CONFLICT: { status: 409, message: 'The request conflicts with the present state' },
  EXPIRED: { status: 410, message: 'This has expired' },
  INVALID_INPUT: { status: 400, message: 'The request is malformed' },
  RATE_LIMITED: { status: 429, message: 'Too many requests; wait and try again' },
  INTERNAL_ERROR: {
    status: 500,
    message: 'Something went wrong on our side; quote the request id when asking',
  },
  SERVICE_UNAVAILABLE: { status: 503, message: 'A part of the service is away; try again shortly' },
} as const

export type ErrorCode = keyof typeof errorTable
