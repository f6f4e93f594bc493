import fc from 'fast-check'
import { expect, test } from 'vitest'
import { StepRefused } from './failure.ts'
import { interpolate } from './interpolate.ts'
import { findAt, parsePath, type Scope } from './reference.ts'
import { parseTemplate, renderTemplate } from './template.ts'

/** A reference of the language. */
const of = (reference: string) => `$\{${reference}}`

function scopeOf(initData: unknown, outputs: Record<string, unknown> = {}): Scope {
  return {
    initData,
    inputData: initData,
    state: {},
    outputOf: (stepId) => outputs[stepId],
    requestValue: () => undefined,
  }
}

function render(text: string, scope: Scope): string {
  const template = parseTemplate(text)
  if (!template) throw new Error(`no template: ${text}`)
  return renderTemplate(template, scope, 1_000_000)
}

const marker = fc.constantFrom(
  of('initData.secret'),
  of('workspaceId'),
  of('stepResults.a'),
  of(''),
  '${',
  '$$',
  '}',
  '{{x}}',
  '\\',
  '$&',
  '$1',
)
const inert = fc
  .array(fc.oneof(marker, fc.string({ maxLength: 5 })), { maxLength: 6 })
  .map((parts) => parts.join(''))

test('values come out as they are, whatever they look like', () => {
  fc.assert(
    fc.property(inert, inert, (value, secret) => {
      const scope = scopeOf({ value, secret }, { a: { value } })
      expect(render(`<${of('initData.value')}|${of('stepResults.a.value')}>`, scope)).toBe(
        `<${value}|${value}>`,
      )
    }),
    { numRuns: 2000 },
  )
})

test('text around the references comes out as it is', () => {
  const plain = fc.string().filter((text) => !text.includes('${'))
  fc.assert(
    fc.property(plain, plain, fc.oneof(fc.integer(), fc.boolean(), fc.string()), (before, after, value) => {
      // A text that ends in $ and a reference are not a longer marker.
      const template = `${before}${of('initData.v')}${after}`
      expect(render(template, scopeOf({ v: value }))).toBe(`${before}${value}${after}`)
    }),
    { numRuns: 2000 },
  )
})

const inherited = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  '__defineGetter__',
]

test('what objects inherit is never there', () => {
  const data = fc.jsonValue({ maxDepth: 3 })
  fc.assert(
    fc.property(
      data,
      fc.constantFrom(...inherited),
      fc.constantFrom(...inherited),
      (value, first, second) => {
        for (const path of [[first], [first, second]]) {
          const found = findAt(value, path)
          const own = typeof value === 'object' && value !== null && Object.hasOwn(value, first)
          if (first === '__proto__' || !own) expect(found.found).toBe(false)
        }
      },
    ),
    { numRuns: 2000 },
  )
})

test('a key called __proto__ in data is not readable either', () => {
  const data: unknown = JSON.parse('{"__proto__":{"polluted":1},"a":{"__proto__":2}}')
  expect(findAt(data, ['__proto__'])).toEqual({ found: false, parent: true })
  expect(findAt(data, ['__proto__', 'polluted'])).toEqual({ found: false, parent: false })
  expect(render(`[${of('initData.a.__proto__')}]`, scopeOf(data))).toBe('[]')
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

test('texts and numbers are not entered', () => {
  expect(findAt({ a: 'text' }, ['a', 'length'])).toEqual({ found: false, parent: false })
  expect(findAt({ a: ['x'] }, ['a', 'length'])).toEqual({ found: true, value: 1 })
  expect(findAt(['x'], ['00'])).toEqual({ found: false, parent: true })
})

test.each([
  ['', []],
  ['.', []],
  ['a.0.b c', ['a', '0', 'b c']],
  ['a..b', undefined],
  ['.a', undefined],
  ['a[0]', undefined],
  ['a.$b', undefined],
])('path %j', (text, path) => {
  expect(parsePath(text)).toEqual(path)
})

test('numbers look as in JavaScript, records as compact JSON, nothing as nothing', () => {
  const scope = scopeOf({ a: 2.5, b: 1e21, c: null, d: { k: [1, 'x'] }, e: true })
  const text = ['a', 'b', 'c', 'd', 'e', 'gone'].map((key) => of(`initData.${key}`)).join('|')
  expect(render(text, scope)).toBe('2.5|1e+21||{"k":[1,"x"]}|true|')
})

test('a step without a result and a way that leads nowhere are failures of different kinds', () => {
  const code = (text: string) => {
    try {
      return render(text, scopeOf({}, { none: null }))
    } catch (error) {
      return error instanceof StepRefused ? error.failure.code : error
    }
  }
  expect(code(of('stepResults.none.a'))).toBe('STEP_RESULT_MISSING')
  expect(code(of('initData.a.b'))).toBe('MAPPING_PATH_INVALID')
})

test('the workspace is put into values, not keys, and only where the marker is exact', () => {
  const marked = of('workspaceId')
  const graph = [{ [marked]: marked, list: [`a${marked}b${marked}`], near: of(' workspaceId ') }, 5, null]
  expect(interpolate(graph, 'W$&')).toEqual([
    { [marked]: 'W$&', list: ['aW$&bW$&'], near: of(' workspaceId ') },
    5,
    null,
  ])
})
