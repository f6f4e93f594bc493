import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { repositoryRoot } from '../../stack/spawn.ts'
import { changes } from './planted-mistakes.ts'

const places = Object.entries(changes).flatMap(([planted, files]) =>
  Object.entries(files).flatMap(([file, instead]) =>
    instead.map(([before]) => [planted, file, before] as const),
  ),
)

// Whoever changes such a line learns it here, and not from a stack that does not start at night.
test.each(places)('%s has its place in %s: %s', (_planted, file, before) => {
  const source = readFileSync(join(repositoryRoot, 'packages/server/src', file), 'utf8')
  expect(source.split(before)).toHaveLength(2)
})
