import { APICallError } from 'ai'
import { expect, test } from 'vitest'
import { modelErrorOf } from './failure.ts'

const now = Date.parse('2026-01-01T00:00:00Z')

function answered(statusCode: number | undefined, headers: Record<string, string> = {}, message = 'said so') {
  const request = { url: 'https://models.example', requestBodyValues: { secret: 'conversation' } }
  const status = statusCode === undefined ? {} : { statusCode }
  return modelErrorOf(new APICallError({ message, ...request, ...status, responseHeaders: headers }), now)
}

test.each([
  [400, 'bad_request', false],
  [401, 'key_refused', false],
  [403, 'key_refused', false],
  [404, 'unknown_model', false],
  [408, 'provider_error', true],
  [413, 'bad_request', false],
  [429, 'rate_limited', true],
  [500, 'provider_error', true],
  [503, 'overloaded', true],
  [529, 'overloaded', true],
  [undefined, 'network', true],
  [200, 'network', true],
])('%s is %s', (status, kind, retryable) => {
  const error = answered(status)
  expect(error).toMatchObject({ kind, retryable })
  expect(error?.cause).toBeUndefined()
  expect(JSON.stringify(error)).not.toContain('conversation')
})

test.each([
  ['2', 2000],
  ['0.5', 500],
  ['Thu, 01 Jan 2026 00:00:07 GMT', 7000],
  ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
  ['soon', undefined],
])('retry-after %s is %s ms', (value, ms) => {
  expect(answered(429, { 'retry-after': value })?.retryAfterMs).toBe(ms)
})

test('connections that break and events in a stream are told apart from mistakes of our own', () => {
  const reset = new TypeError('terminated', {
    cause: Object.assign(new Error('x'), { code: 'UND_ERR_SOCKET' }),
  })
  expect(modelErrorOf(reset)?.kind).toBe('network')
  expect(modelErrorOf({ type: 'overloaded_error', message: 'x' })?.kind).toBe('overloaded')
  expect(modelErrorOf({ type: 'requests', code: 'rate_limit_exceeded' })?.kind).toBe('rate_limited')
  expect(modelErrorOf({ type: 'server_error' })?.kind).toBe('provider_error')
  expect(modelErrorOf(new TypeError('x is not a function'))).toBeUndefined()
  expect(modelErrorOf(null)).toBeUndefined()
})
