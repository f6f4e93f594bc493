import { expect } from 'vitest'
import type { Answer } from './client.ts'

export interface ErrorBody {
  error: { code: string; message: string; details?: Record<string, unknown>; type?: string }
}

export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
export const isoPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/
export const keyPattern = /^guild_live_[A-Za-z0-9_-]{16,}$/

/** The answer is this refusal, in the standard envelope; returns what stands inside. */
export function expectRefusal(answer: Answer, status: number, code: string): ErrorBody['error'] {
  expect({ status: answer.status, body: answer.body }).toMatchObject({
    status,
    body: { error: { code, message: expect.any(String) } },
  })
  return (answer.body as ErrorBody).error
}

/** The answer is this refusal in the shape of starts: the code bare, and every detail beside it. */
export function expectFlatRefusal(answer: Answer, status: number, code: string): Record<string, unknown> {
  expect({ status: answer.status, body: answer.body }).toMatchObject({
    status,
    body: { error: code, message: expect.stringMatching(/\S/) },
  })
  const body = answer.body as Record<string, unknown>
  expect(Object.keys(body), answer.text).not.toContain('details')
  return body
}

/** The envelope itself, whatever the error. */
export function expectEnvelope(answer: Answer): void {
  const body = answer.body as ErrorBody
  expect(Object.keys(body), answer.text).toEqual(['error'])
  expect(body.error, answer.text).toMatchObject({
    code: expect.stringMatching(/^[A-Z]+(_[A-Z]+)*$/),
    message: expect.stringMatching(/\S/),
  })
  if ('details' in body.error) {
    expect(body.error.details, answer.text).toBeTypeOf('object')
    expect(Array.isArray(body.error.details), answer.text).toBe(false)
    expect(body.error.details, answer.text).not.toBeNull()
  }
}

export function expectRateHeaders(answer: Answer): void {
  const { headers } = answer
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
    expect(headers[name], `${name} on ${answer.status} ${answer.text}`).toMatch(/^\d+$/)
  }
}

export function remaining(answer: Answer): number {
  return Number(answer.headers['x-ratelimit-remaining'] ?? Number.NaN)
}

export function resetSeconds(answer: Answer): number {
  return Number(answer.headers['x-ratelimit-reset'] ?? Number.NaN)
}
