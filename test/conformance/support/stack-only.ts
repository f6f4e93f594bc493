import { inject, test } from 'vitest'
import type { StackParts } from './global-setup.ts'

/**
 * A test that needs more than HTTP: the database's clock, a part made to fail, the development identity
 * provider. It is left out, and reported so, when the suite runs against a deployment given by its address.
 */
export function stackOnly(title: string, work: () => Promise<void>): void {
  test(title, (context) => {
    if (inject('stack') === null) context.skip('needs the parts of a stack of its own')
    return work()
  })
}

export function stack(): StackParts {
  const given = inject('stack')
  if (given === null) throw new Error('This test must be declared with stackOnly')
  return given
}
