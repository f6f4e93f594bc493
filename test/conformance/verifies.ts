import { expect } from 'vitest'
import { requirementById } from './requirements.ts'

/**
 * The first statement of a test: which rules of the specification it shows. `coverage.ts` reads these calls;
 * a test that makes one and then asserts nothing fails.
 */
export function verifies(...ids: [string, ...string[]]): void {
  const unknown = ids.filter((id) => !requirementById.has(id))
  if (unknown.length > 0) throw new Error(`No such rule: ${unknown.join(', ')}`)
  expect.hasAssertions()
}
