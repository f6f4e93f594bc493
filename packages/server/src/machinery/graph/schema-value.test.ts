import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonRecord } from './json.ts'
import { checkSchema } from './schema.ts'
import { validateValue } from './schema-value.ts'

const name = fc.constantFrom('a', 'b', 'c', 'length', 'constructor')
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<unknown>(null, true, false, 0, 1, 2, 1.5, -1, '', 'a', 'ab', 'é😀', '2020'),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(name, tie('any'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).any

const small = fc.nat({ max: 3 })
const type = fc.constantFrom('object', 'array', 'string', 'number', 'integer', 'boolean', 'null')

/** Every keyword that is supported, a few at a time. */
const schema: fc.Arbitrary<JsonRecord | boolean> = fc.letrec<{ any: JsonRecord | boolean }>((tie) => {
  const any = tie('any')
  const list = fc.array(any, { minLength: 1, maxLength: 3 })
  const keywords: Record<string, fc.Arbitrary<unknown>> = {
    type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 2 })),
    enum: fc.array(value, { minLength: 1, maxLength: 3 }),
    const: value,
    minimum: small,
    maximum: small,
    exclusiveMinimum: small,
    exclusiveMaximum: small,
    multipleOf: fc.constantFrom(1, 2, 0.5),
    minLength: small,
    maxLength: small,
    minItems: small,
    maxItems: small,
    minProperties: small,
    maxProperties: small,
    uniqueItems: fc.boolean(),
    pattern: fc.constantFrom('^a', 'b$', '^\\d+$', '.'),
    required: fc.uniqueArray(name, { maxLength: 2 }),
    properties: fc.dictionary(name, any, { maxKeys: 3, noNullPrototype: true }),
    additionalProperties: any,
    items: any,
    prefixItems: list,
    allOf: list,
    anyOf: list,
    oneOf: list,
    not: any,
    $ref: fc.constantFrom('#/$defs/x', '#/$defs/y'),
  }
  const rule = fc.oneof(...Object.entries(keywords).map(([key, rule]) => fc.tuple(fc.constant(key), rule)))
  const rules = fc
    .array(rule, { minLength: 1, maxLength: 4 })
    .map((all): JsonRecord => Object.fromEntries(all))
  return { any: fc.oneof({ depthSize: 'small', withCrossShrink: true }, fc.boolean(), rules) }
}).any

const definitions = {
  x: { type: ['string', 'number'], minimum: 1 },
  y: { type: 'object', properties: { a: { $ref: '#/$defs/y' } }, required: ['a'] },
}

/** Undefined where the other one breaks: it writes code for `prefixItems: [false]` that uses an undeclared variable. */
function ask(validate: (value: unknown) => unknown, one: unknown): boolean | undefined {
  try {
    return validate(one) === true
  } catch (error) {
    if (error instanceof ReferenceError) return undefined
    throw error
  }
}

test('agrees with another validator on every supported keyword', { timeout: 60_000 }, () => {
  let valid = 0
  let invalid = 0
  const property = fc.property(schema, fc.array(value, { minLength: 5, maxLength: 5 }), (any, values) => {
    const root: JsonRecord = { $defs: definitions, allOf: [any] }
    const problems: string[] = []
    expect(
      checkSchema(root, 's', (...issue) => void problems.push(issue.join(' ')) as undefined, {
        instructionsLeft: 1e6,
      }),
      problems.join(),
    ).toBe(true)
    const other = new Ajv2020({
      ownProperties: true,
      strict: false,
      logger: false,
      validateSchema: false,
    }).compile(root)
    for (const one of values) {
      const issues = validateValue(root, one)
      const isValid = ask(other, one)
      if (isValid === undefined) continue
      if ((issues.length === 0) !== isValid)
        expect.fail(
          `${JSON.stringify(root)} on ${JSON.stringify(one)}: ${isValid}, but ${JSON.stringify(issues)}`,
        )
      if (isValid) valid++
      else invalid++
    }
  })
  fc.assert(property, { numRuns: 600, seed: 20261115 })
  expect(valid).toBeGreaterThan(500)
  expect(invalid).toBeGreaterThan(500)
})

test('issues say where and why', () => {
  const issues = validateValue(
    {
      type: 'object',
      required: ['name', 'tags'],
      properties: { name: { type: 'string' }, tags: { items: { type: 'string', maxLength: 2 } } },
      additionalProperties: false,
    },
    { name: 5, tags: ['a', 'abc'], more: 1 },
  )
  expect(issues).toEqual([
    { path: 'name', keyword: 'type', message: 'must be string' },
    { path: 'tags.1', keyword: 'maxLength', message: 'must have at most 2 characters' },
    { path: 'more', keyword: 'false schema', message: 'is not allowed here' },
  ])
})
