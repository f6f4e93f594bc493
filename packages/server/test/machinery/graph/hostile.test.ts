import { afterAll, expect, test } from 'vitest'
import { checkInputs, type IssueCode } from '#machinery/graph/graph.ts'
import { expectWithin, tell } from '../../../../../test/support/proof.ts'
import { compile, define, many, mapped, of, step } from './definitions.ts'

/*
 * Definitions and inputs made to hurt. Each must be refused or bounded, and none may hold up the process for more than
 * 50 ms. Nothing is awaited in between, so the thread's time of a call is how long the event loop stands still.
 */
const limitMs = 50
const slowest: [name: string, ms: number][] = []
let slowestFirst: [name: string, ms: number] = ['', 0]

/** Time of the thread, not of the wall, since others use the machine too; the best of three, when the code is warm. */
function timed<T>(name: string, work: () => T): T {
  let best = Number.POSITIVE_INFINITY
  let result: T | undefined
  for (let turn = 0; turn < 3; turn++) {
    const before = process.threadCpuUsage()
    result = work()
    const { user, system } = process.threadCpuUsage(before)
    best = Math.min(best, (user + system) / 1000)
    if (turn === 0 && best > slowestFirst[1]) slowestFirst = [name, best]
  }
  slowest.push([name, best])
  expectWithin(best, limitMs, `${name} took ${best.toFixed(1)} ms`)
  return result as T
}

afterAll(() => {
  const [worst] = slowest.sort(([, a], [, b]) => b - a)
  const told = ([name, ms]: [string, number]) => `${name}, ${ms.toFixed(1)} ms`
  tell(
    `${slowest.length} hostile cases; the slowest: ${told(worst ?? ['none', 0])}; the slowest first call: ${told(slowestFirst)}`,
  )
})

const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth)
const chained = (count: number, link: (n: number) => object) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`d${n}`, link(n)]))

const refused: [name: string, source: unknown, code: IssueCode][] = [
  ['a text over the size', `"${'x'.repeat(1_000_000)}"`, 'definition-too-large'],
  ['a record over the size', define({ description: 'x'.repeat(1_000_000) }), 'definition-too-large'],
  ['100,000 brackets', nested(100_000, '[', ']'), 'not-an-object'],
  ['40,000 nested records', `{"graph":${nested(40_000, '{"a":[', ']}')}}`, 'definition-too-large'],
  ['deep metadata', `{"id":"x","metadata":{"a":${nested(60_000, '[', ']')}}}`, 'definition-too-large'],
  ['not JSON at its end', `${'['.repeat(200_000)}`, 'not-json'],
  ['10,000 entries', define({ graph: many(10_000, () => 1) }), 'graph-too-large'],
  [
    'a container of 10,000',
    define({ graph: [{ type: 'parallel', steps: many(10_000, () => 1) }] }),
    'graph-too-large',
  ],
  [
    'a container of 51',
    define({ graph: [{ type: 'parallel', steps: many(51, (n) => step(`s${n}`)) }] }),
    'container-too-large',
  ],
  [
    '20,000 unknown fields',
    JSON.stringify(define(Object.fromEntries(many(20_000, (n) => [`k${n}`, 0])))),
    'unknown-field',
  ],
  ['a key of 200 KB', define({ ['k'.repeat(200_000)]: 0 }), 'unknown-field'],
  ['an id of 200 KB', define({ graph: [step('a'.repeat(200_000))] }), 'invalid-step-id'],
  ['__proto__ as an id', define({ graph: [step('__proto__')] }), 'reserved-step-id'],
  ['constructor as an id', define({ graph: [step('constructor')] }), 'reserved-step-id'],
  ['prototype as an id', define({ graph: [step('prototype')] }), 'reserved-step-id'],
  [
    '__proto__ as a field',
    '{"id":"x","graph":[{"type":"tool","id":"a","toolId":"echo","__proto__":{"x":1}}],"inputSchema":{},"outputSchema":{}}',
    'unknown-field',
  ],
  ['__proto__ as a type', define({ graph: [{ type: '__proto__', id: 'a' }] }), 'unknown-entry-type'],
  [
    'constructor as an op',
    define({
      graph: [{ type: 'loop', loopType: 'dowhile', step: step('a'), predicate: { op: 'constructor' } }],
    }),
    'invalid-predicate',
  ],
  [
    '__proto__ as a mapped key',
    define({ graph: [{ type: 'mapping', id: 'm', mapConfig: '{"__proto__":{"value":1}}' }] }),
    'invalid-map-config',
  ],
  [
    'a deep constant',
    define({
      graph: [{ type: 'mapping', id: 'm', mapConfig: `{"a":{"value":${nested(50_000, '[', ']')}}}` }],
    }),
    'invalid-map-config',
  ],
  [
    '5,000 mapped keys',
    mapped(Object.fromEntries(many(5000, (n) => [`k${n}`, { value: 1 }]))),
    'invalid-map-config',
  ],
  ['a template of 200 KB', mapped({ a: { template: of('initData.a').repeat(16_000) } }), 'invalid-template'],
  ['a template of 1 MB', mapped({ a: { template: '${'.repeat(500_000) } }), 'definition-too-large'],
  ['30,000 open markers', mapped({ a: { template: '${'.repeat(15_000) } }), 'empty-graph'],
  [
    'a condition 60 deep',
    define({
      graph: [
        {
          type: 'loop',
          loopType: 'dowhile',
          step: step('a'),
          predicate: JSON.parse(nested(60, '{"op":"not","arg":', '}').replace('arg":}', 'arg":1}')),
        },
      ],
    }),
    'predicate-too-deep',
  ],
  [
    'a condition of 5,000',
    define({
      graph: [
        {
          type: 'loop',
          loopType: 'dowhile',
          step: step('a'),
          predicate: { op: 'and', args: many(5000, () => ({ op: 'truthy', value: { literal: 1 } })) },
        },
      ],
    }),
    'predicate-too-deep',
  ],
  [
    'a set of 20,000',
    define({
      graph: [
        {
          type: 'loop',
          loopType: 'dowhile',
          step: step('a'),
          predicate: { op: 'in', value: { literal: 1 }, set: many(20_000, (n) => n) },
        },
      ],
    }),
    'invalid-predicate',
  ],
  [
    'a path of 100 KB',
    mapped({ a: { initData: true, path: `${'a.'.repeat(50_000)}[` } }),
    'invalid-map-path',
  ],
  ['a schema of 100 KB', define({ inputSchema: { enum: many(30_000, (n) => n) } }), 'schema-too-large'],
  ['an enum of 5,000', define({ inputSchema: { enum: many(5000, (n) => n) } }), 'schema-too-large'],
  [
    'a schema 50 deep',
    define({ inputSchema: JSON.parse(nested(50, '{"not":', '}').replace('not":}', 'not":{}}')) }),
    'schema-too-large',
  ],
  [
    'a remote reference',
    define({ inputSchema: { $ref: 'https://example.test/x.json' } }),
    'unsupported-schema-keyword',
  ],
  [
    'a reference to itself',
    define({ inputSchema: { $defs: { a: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' } }),
    'invalid-schema',
  ],
  [
    'references in a ring',
    define({ inputSchema: { $defs: chained(500, (n) => ({ $ref: `#/$defs/d${(n + 1) % 500}` })) } }),
    'invalid-schema',
  ],
  ['a reference to __proto__', define({ inputSchema: { $ref: '#/$defs/__proto__' } }), 'invalid-schema'],
  ['a pattern with a back reference', define({ inputSchema: { pattern: '(a)\\1' } }), 'unsafe-pattern'],
  ['a pattern of 10 KB', define({ inputSchema: { pattern: 'a?'.repeat(5000) } }), 'unsafe-pattern'],
  ['counts in counts', define({ inputSchema: { pattern: '((((a{30}){30}){30}){30})' } }), 'unsafe-pattern'],
  [
    'a program of 50,000',
    define({
      inputSchema: { pattern: '(?:(?:a?b?c?d?e?f?g?h?i?j?k?l?m?n?o?p?q?r?s?t?u?v?w?x?y?z?){10}){100}' },
    }),
    'unsafe-pattern',
  ],
  [
    'options in options',
    define({ inputSchema: { pattern: '((((((((((a?)?)?)?)?)?)?)?)?)?){1000}' } }),
    'unsafe-pattern',
  ],
]

test.each(refused)('%s is refused', (name, source, code) => {
  // The markers alone are fine: without an end they are text.
  const expected = name === '30,000 open markers' ? undefined : code
  const { report, workflow } = timed(name, () => compile(source))
  if (expected === undefined) return expect(workflow).toBeDefined()
  expect(report?.issues.map((issue) => issue.code)).toContain(expected)
  expect(report?.issues.length).toBeLessThanOrEqual(100)
  expect(JSON.stringify(report).length).toBeLessThan(100_000)
})

test('1,000 patterns that were never seen before are refused', () => {
  let fresh = 0
  const patterns = () => chained(1000, (n) => ({ pattern: `^[a-f]{${n % 90}}x${fresh++}$` }))
  const { report } = timed('1,000 patterns', () =>
    compile(define({ inputSchema: { properties: patterns() } })),
  )
  expect(report?.issues.map(({ code }) => code)).toContain('schema-too-large')
})

test.each([
  ['wide ranges without regard to case', (n: number) => `(?i)${'[!-\uffff]'.repeat(14)}${n}`],
  ['Unicode classes', (n: number) => `${'\\pL'.repeat(29)}${n}`],
])('a hundred patterns of %s are refused, though their programs are small', (_what, pattern) => {
  const properties = chained(100, (n) => ({ pattern: pattern(n) }))
  const { report } = compile(define({ inputSchema: { properties } }))
  expect(report?.issues.map(({ code }) => code)).toContain('schema-too-large')
})

test('what a long list of issues leaves out is said', () => {
  const { report } = compile(define(Object.fromEntries(many(5000, (n) => [`k${n}`, 0]))))
  expect(report).toMatchObject({ count: 5000, truncated: true })
  expect(report?.issues).toHaveLength(100)
})

test('the largest definition that is allowed is read in time', () => {
  const steps = many(50, (n) => n)
  const graph = many(9, (entry) => ({
    type: 'conditional',
    steps: steps.map((n) => step(`s${entry}-${n}`)),
    predicates: steps.map(() => ({
      op: 'and',
      args: many(4, () => ({ op: 'eq', left: { path: 'initData.a.b' }, right: { literal: 'x' } })),
    })),
  }))
  const source = JSON.stringify(define({ graph }))
  expect(source.length).toBeGreaterThan(150_000)
  expect(timed('the largest definition', () => compile(source)).workflow).toBeDefined()
})

const items = { type: 'array' }
const heavy: [name: string, schema: object, inputs: unknown][] = [
  ['evil alternatives', { properties: { a: { pattern: '^(a|a)*$' } } }, { a: `${'a'.repeat(90_000)}!` }],
  ['nested repetition', { properties: { a: { pattern: '^(a+)+$' } } }, { a: `${'a'.repeat(90_000)}!` }],
  [
    'a long program on a long text',
    { properties: { a: { pattern: '(\\pL?\\pN?){200}!$' } } },
    { a: 'é1'.repeat(25_000) },
  ],
  [
    'a long program on many texts',
    { additionalProperties: { pattern: '(a|b)*a(a|b){200}$' } },
    Object.fromEntries(many(4000, (n) => [`k${n}`, 'ababababab'])),
  ],
  [
    'doubling references',
    {
      $defs: chained(30, (n) =>
        n < 29 ? { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] } : {},
      ),
      $ref: '#/$defs/d0',
    },
    {},
  ],
  [
    'doubling alternatives',
    {
      $defs: chained(30, (n) =>
        n < 29
          ? { oneOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] }
          : { type: 'object' },
      ),
      $ref: '#/$defs/d0',
    },
    {},
  ],
  [
    'unique records',
    { properties: { a: { ...items, uniqueItems: true } } },
    { a: many(9000, (n) => ({ n })) },
  ],
  [
    'one long text, unique 2,500 times',
    { properties: { a: { allOf: many(2500, () => ({ uniqueItems: true })) } } },
    { a: ['x'.repeat(90_000)] },
  ],
  [
    'one long name, unique 2,500 times',
    { properties: { a: { allOf: many(2500, () => ({ uniqueItems: true })) } } },
    { a: [{ ['x'.repeat(90_000)]: 1 }] },
  ],
  [
    'a long text under 100 names, unique',
    { properties: { a: { allOf: many(100, () => ({ uniqueItems: true })) } } },
    { a: JSON.parse(`[${'{"a":'.repeat(100)}"${'x'.repeat(90_000)}"${'}'.repeat(100)}]`) },
  ],
  [
    '8,000 properties counted 2,500 times',
    { allOf: many(2500, () => ({ minProperties: 1 })) },
    Object.fromEntries(many(8000, (n) => [`k${n}`, 1])),
  ],
  [
    '3,000 rules for 30,000 items',
    { properties: { a: { items: { allOf: many(3000, () => ({ type: 'number' })) } } } },
    { a: many(30_000, () => 1) },
  ],
  [
    'an enum of 1,000 for 20,000 items',
    { properties: { a: { items: { enum: many(1000, (n) => `x${n}`) } } } },
    { a: many(20_000, () => 'y') },
  ],
  [
    'an enum of records',
    { properties: { a: { items: { enum: many(1000, (n) => ({ n: [n] })) } } } },
    { a: many(10_000, () => ({ n: [-1] })) },
  ],
  [
    '5,000 required names for 10,000 items',
    { properties: { a: { items: { required: many(5000, (n) => `k${n}`) } } } },
    { a: many(10_000, () => ({})) },
  ],
  [
    'a recursive schema on a deep value',
    { $defs: { a: { items: { $ref: '#/$defs/a' } } }, properties: { a: { $ref: '#/$defs/a' } } },
    JSON.parse(`{"a":${nested(120, '[', ']')}}`),
  ],
  ['a value too deep', {}, JSON.parse(`{"a":${nested(40_000, '[', ']')}}`)],
  ['a value too large', {}, { a: 'x'.repeat(500_000) }],
]

test.each(heavy)('%s ends in time', (name, inputSchema, inputs) => {
  const { workflow, report } = timed(`${name} (compile)`, () => compile(define({ inputSchema })))
  if (!workflow) throw new Error(JSON.stringify(report))
  const issues = timed(name, () => checkInputs(workflow.inputSchema, inputs))
  expect(issues.length).toBeLessThanOrEqual(100)
})
