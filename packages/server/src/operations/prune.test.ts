import { type Route, routes } from '@guildhall/contract'
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { compilePrune, Ignored } from './prune.ts'

const text = { type: 'string' }
const number = { type: 'number' }
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const list = (items: object) => ({ type: 'array', items })
const record = (pattern: string, values: object) => ({
  type: 'object',
  patternProperties: { [pattern]: values },
})

const ajv = new Ajv({ strict: false, formats: { 'date-time': true, uuid: true } })

function prune(schema: object | undefined, value: unknown) {
  const before = structuredClone(value)
  const ignored = new Ignored()
  const kept = compilePrune(schema, (inner) => ajv.compile(inner))(value, ignored)
  expect(value).toEqual(before)
  return { kept, ignored: ignored.text }
}

const Person = object({
  name: text,
  home: object({ city: text }),
  tags: list(object({ id: number })),
})

test('what the schema describes stays, at every depth; all else goes and is named', () => {
  const value = {
    name: 'a',
    is_admin: true,
    home: { city: 'b', workspace_id: 'c' },
    tags: [{ id: 1 }, { id: 2, step: { key: 'd' } }],
  }
  expect(prune(Person, value)).toEqual({
    kept: { name: 'a', home: { city: 'b' }, tags: [{ id: 1 }, { id: 2 }] },
    ignored: 'is_admin, home.workspace_id, tags.1.step',
  })
})

test('a value with nothing to leave out is handed on as it is, not copied', () => {
  const value = { name: 'a', home: { city: 'b' }, tags: [{ id: 1 }] }
  const { kept, ignored } = prune(Person, value)
  expect(kept).toBe(value)
  expect(ignored).toBeUndefined()
})

test.each<[string, object]>([
  ['any', {}],
  ['described and no more', { description: 'what the step is told' }],
  ['an object that says so', { type: 'object', additionalProperties: true }],
  ['a record of anything', record('^.*$', {})],
])('what is declared open is not touched: %s', (_title, schema) => {
  const value = { a: { b: [{ c: 1 }] }, 'line\nbreak': { constructor: 1 } }
  const { kept, ignored } = prune(object({ own: schema }), { own: value })
  expect((kept as { own: unknown }).own).toBe(value)
  expect(ignored).toBeUndefined()
})

test('an open object keeps everything, and what it does describe is still looked into', () => {
  const schema = object({ inner: object({ a: number }) }, { additionalProperties: true })
  const kept = { inner: { a: 1 }, other: { b: 1 } }
  expect(prune(schema, { inner: { a: 1, b: 2 }, other: { b: 1 } })).toEqual({ kept, ignored: 'inner.b' })
})

test('a record keeps the names that fit, and prunes its values', () => {
  const named = record('^[a-z]+$', object({ a: number }))
  expect(prune(named, { ok: { a: 1, b: 2 }, 'not ok': { a: 1 } })).toEqual({
    kept: { ok: { a: 1 } },
    ignored: 'not%20ok, ok.b',
  })
})

test('of a union what the branches that fit describe stays', () => {
  const fromGit = object({ type: { const: 'git' }, url: text }, { required: ['type', 'url'] })
  const r2 = object({ type: { const: 'r2' }, key: text }, { required: ['type', 'key'] })
  const union = { anyOf: [fromGit, r2] }
  const git = { type: 'git', url: 'u', key: 'k', ref: 'r' }
  expect(prune(union, git)).toEqual({ kept: { type: 'git', url: 'u' }, ignored: 'key, ref' })
  const overlapping = { anyOf: [object({ a: number }), object({ a: number, b: number })] }
  expect(prune(overlapping, { a: 1, b: 2, c: 3 })).toEqual({ kept: { a: 1, b: 2 }, ignored: 'c' })
  const both = { allOf: [object({ a: object({ x: number }) }), object({ b: number })] }
  expect(prune(both, { a: { x: 1, y: 1 }, b: 2, c: 3 })).toEqual({
    kept: { a: { x: 1 }, b: 2 },
    ignored: 'c, a.y',
  })
})

test('names of the language itself are names like any other', () => {
  const value = JSON.parse('{"name":"a","__proto__":{"is_admin":true},"constructor":1,"toString":2}')
  const { kept, ignored } = prune(Person, value)
  expect(Object.keys(kept as object)).toEqual(['name'])
  expect((kept as { is_admin?: boolean }).is_admin).toBeUndefined()
  expect(ignored).toBe('__proto__, constructor, toString')
  const anyNames = prune(record('^.*$', number), JSON.parse('{"__proto__":1,"a\\n":2}'))
  expect(Object.hasOwn(anyNames.kept as object, '__proto__')).toBe(true)
  expect(anyNames.ignored).toBe('a%0A')
})

test('depth and width of what is ignored cost nothing', () => {
  let deep: unknown = 1
  for (let i = 0; i < 200_000; i++) deep = { a: deep }
  const schema = object({ name: text, own: {} })
  const ignored = new Ignored()
  const kept = compilePrune(schema, (inner) => ajv.compile(inner))({ name: 'a', own: deep, b: deep }, ignored)
  expect(Object.keys(kept as object)).toEqual(['name', 'own'])
  expect(ignored.text).toBe('b')
})

test('of what is sent and not known only some names are looked at', () => {
  const known = { name: 'a', home: { city: 'b' } }
  const sent = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`x${i}`, i]))
  let looks = 0
  const counted = new Proxy(
    { ...sent, ...known },
    {
      get: (target, name) => {
        looks++
        return Reflect.get(target, name)
      },
    },
  )
  const ignored = new Ignored()
  const kept = compilePrune(Person, (inner) => ajv.compile(inner))(counted, ignored)
  expect(kept).toEqual(known)
  expect(ignored.text).toMatch(/^x0, .*, x39, \+4960$/)
  expect(looks).toBe(2)
})

test('the names are printable and bounded, whatever they are', () => {
  const strange = { 'é, "\r\nset-cookie: a': 1, '\ud800': 1, [`x${'y'.repeat(5000)}`]: 1, '': 1 }
  const { ignored } = prune(object({}), strange)
  expect(ignored).toMatch(/^[\x21-\x7e]+(, [\x21-\x7e]+)*$/)
  expect(ignored?.split(', ')).toHaveLength(4)
  expect(ignored).not.toContain('\r')
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`field-${i}`, i]))
  const shown = prune(object({}), many).ignored ?? ''
  expect(shown.length).toBeLessThan(1100)
  expect(shown).toMatch(/^field-0, field-1, .*, field-39, \+4960$/)
})

test('a schema in words that are not read is refused, and none of the contract is', () => {
  expect(() => prune({ prefixItems: [object({})] }, [])).toThrow('not read')
  for (const { body, query } of Object.values<Route>(routes)) {
    expect(() => prune(body, {})).not.toThrow()
    expect(() => prune(query, {})).not.toThrow()
  }
})

test('without a schema nothing is known', () => {
  expect(prune(undefined, { a: 1, b: { c: 1 } })).toEqual({ kept: {}, ignored: 'a, b' })
})
