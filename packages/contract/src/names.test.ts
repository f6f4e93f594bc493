import { expect, test } from 'vitest'
import { type Route, routes } from './index.ts'
import { namePattern } from './shapes.ts'

interface Schema {
  readonly type?: string | readonly string[]
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

/** Names of files, which are refused where they are written; and what a machine calls its session, which is mended. */
const others = new Set([
  ...['createExecution', 'runSkill', 'rerunExecution'].map((route) => `${route}.attachments.name`),
  'exchangeSignIn.label',
])

function* namesIn(schema: Schema, path: string): Generator<[string, Schema]> {
  for (const [field, inner] of Object.entries(schema.properties ?? {})) {
    if ((field === 'name' || field === 'label') && [inner.type].flat().includes('string'))
      yield [`${path}.${field}`, inner]
    yield* namesIn(inner, `${path}.${field}`)
  }
  if (schema.items) yield* namesIn(schema.items, path)
  for (const one of schema.anyOf ?? []) yield* namesIn(one, path)
}

test('whatever is called by a name or a label is called by something that can be seen', () => {
  const given = Object.entries<Route>(routes).flatMap(([name, { body }]) =>
    body ? [...namesIn(body as Schema, name)] : [],
  )
  expect(given.length).toBeGreaterThan(8)
  const open = given.filter(
    ([path, { pattern }]) => !others.has(path) && !pattern?.endsWith(namePattern.source),
  )
  expect(open.map(([path]) => path)).toEqual([])
})

test.each(['a', 'Ünï–çødé 4', '日本', '❤️', '👩‍💻 laptop', 'می‌خواهم', "it's (1)", ' a ', '\u2800 a'])(
  '%j is a name',
  (name) => {
    expect(namePattern.test(name)).toBe(true)
  },
)

test.each([
  '',
  ' ',
  '\u200d',
  'a\u202eb',
  'a\u2066b',
  'a\u200bb',
  'a\ufeffb',
  'a\nb',
  'a\tb',
  'a\u2028b',
  'a\u{e0041}b',
  '\u2800',
  '\u3164',
  '\uffa0 \u115f',
  '\u{1d159}',
])('%j is none', (name) => {
  expect(namePattern.test(name)).toBe(false)
})
