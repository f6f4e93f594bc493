import { expect, test } from 'vitest'
import { errorOf } from './error-reader.ts'
import { ApiError, ConflictError, GuildhallError, MissingScopeError, RunStateError } from './errors.ts'

const read = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  errorOf({
    status,
    headers: new Headers(headers),
    text: typeof body === 'string' ? body : JSON.stringify(body),
    operation: 'op',
  })

const enveloped = (code: string, details = {}) => ({ error: { code, message: 'M', details } })

test.each([
  [401, enveloped('UNAUTHORIZED'), 'AuthenticationError'],
  [403, enveloped('FORBIDDEN', { activation_url: '/x' }), 'NotActivatedError'],
  [409, enveloped('ACTIVATION_REQUIRED'), 'NotActivatedError'],
  [403, enveloped('FORBIDDEN', { missing_scopes: ['a'] }), 'MissingScopeError'],
  [403, enveloped('FORBIDDEN', { credential: 'key' }), 'WrongCredentialError'],
  [403, enveloped('FORBIDDEN', { device_auth_required: true }), 'ForbiddenError'],
  [404, enveloped('NOT_FOUND'), 'NotFoundError'],
  [409, enveloped('CONFLICT'), 'ConflictError'],
  [410, enveloped('EXPIRED'), 'ExpiredError'],
  [400, enveloped('INVALID_INPUT', { issues: [{ path: 'a' }] }), 'InvalidInputError'],
  [
    409,
    { cancelled: true, error: 'Workflow run is already success', code: 'NOT_SUSPENDED' },
    'RunStateError',
  ],
  [402, { error: 'INSUFFICIENT_CREDITS', message: 'M', balance: 3 }, 'InsufficientCreditsError'],
  [429, { error: 'EXECUTION_RUNNING', message: 'M' }, 'BusyError'],
  [429, enveloped('RATE_LIMITED'), 'RateLimitError'],
  [500, enveloped('INTERNAL_ERROR'), 'ServerError'],
  [502, '<html>Bad gateway</html>', 'ServerError'],
  [400, { error: 'invalid_grant', error_description: 'It is used up' }, 'InvalidInputError'],
  [418, 'teapot', 'ApiError'],
])('%i %j is a %3$s', (status, body, name) => {
  const error = read(status, body)
  expect(error.name).toBe(name)
  expect(ApiError.is(error) && GuildhallError.is(error)).toBe(true)
})

test('what stands beside a flat code are details', () => {
  const error = read(402, { error: 'INSUFFICIENT_CREDITS', message: 'M', balance: 3, minimumRequired: 5 })
  expect(error).toMatchObject({ code: 'INSUFFICIENT_CREDITS', message: 'M', balance: 3, minimumRequired: 5 })
})

test('of what is no answer of ours the beginning is told', () => {
  const error = read(502, `<html>${'x'.repeat(1000)}`, { 'x-request-id': 'r1', 'retry-after': '7' })
  expect(error).toMatchObject({ code: 'UNEXPECTED_ANSWER', requestId: 'r1', retryAfterSeconds: 7 })
  expect(error.message.length).toBeLessThan(280)
})

test('kinds are known without instanceof, and are no others', () => {
  const error = read(409, { cancelled: true, error: 'x', code: 'NOT_SUSPENDED' })
  expect([RunStateError.is(error), ConflictError.is(error), MissingScopeError.is(error)]).toEqual([
    true,
    true,
    false,
  ])
  for (const other of [undefined, null, 1, 'x', {}, new Error('x')])
    expect(GuildhallError.is(other)).toBe(false)
})
