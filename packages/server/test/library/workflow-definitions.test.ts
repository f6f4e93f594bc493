import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { expectWithin, tell } from '../../../../test/support/proof.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { longestTurn } from '../support/longest-turn.ts'

/** What is accepted and what is not, as authors see it: over HTTP, by validate and by install alike. */
let house: House
let person: Person

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase(), DEV_TOOLS: '1' })
  person = await house.newPerson()
})

afterAll(() => house.close())

const by = (who: Person) => (method: string, path: string, body?: unknown) =>
  house.call(method, `/api/v1${path}`, { token: who.token, ...(body === undefined ? {} : { body }) })

const define = (change: object = {}) => ({
  id: 'greet',
  inputSchema: { type: 'object' },
  outputSchema: {},
  graph: [{ type: 'tool', id: 'say', toolId: 'echo' }],
  ...change,
})

describe('the corpus', () => {
  interface Case {
    name: string
    kind: 'valid' | 'invalid'
    definition: Record<string, unknown>
    agents?: Record<string, string>
    expected: { issues?: { code: string; path: string }[] }
  }
  const folder = join(import.meta.dirname, '../machinery/graph/corpus')
  const cases = readdirSync(folder).map((file): Case => JSON.parse(readFileSync(join(folder, file), 'utf8')))
  let author: Person

  beforeAll(async () => {
    author = await house.newPerson()
    for (const slug of ['writer', 'grader']) await by(author)('POST', '/agents', { slug })
  })

  /** Some are not records with an id and a graph, so they need a shape that says what they are. */
  const shapes = (definition: unknown) => [{ definition }, { content: JSON.stringify(definition) }]

  test.each(cases.filter(({ kind }) => kind === 'invalid'))(
    '$name is refused',
    async ({ definition, expected }) => {
      const call = by(author)
      const sorted = (issues: { code: string; path: string }[]) =>
        issues.map(({ code, path }) => `${path} ${code}`).sort()
      for (const body of shapes(definition)) {
        const checked = await call('POST', '/workflows/validate', body)
        expect(checked.status).toBe(200)
        expect(checked.body.valid).toBe(false)
        expect(sorted(checked.body.issues)).toEqual(sorted(expected.issues ?? []))
        for (const { hint } of checked.body.issues) expect(hint).toMatch(/^[A-Z].{20,}\.$/)
        const refused = await call('POST', '/workflows/broken/install', body)
        expect([refused.status, refused.body.error.code]).toEqual([400, 'INVALID_INPUT'])
        expect(refused.body.error.details).toEqual({
          issues: checked.body.issues,
          count: checked.body.issues.length,
        })
      }
      expect((await call('GET', '/workflows/broken')).status).toBe(404)
    },
  )

  test.each(cases.filter(({ kind }) => kind === 'valid'))(
    '$name is installed',
    async ({ name, definition }) => {
      const call = by(author)
      expect((await call('POST', '/workflows/validate', definition)).body).toEqual({
        valid: true,
        issues: [],
      })
      const { status, body } = await call('POST', `/workflows/${name}/install`, definition)
      expect(status).toBe(201)
      expect(JSON.parse(body.definition)).toEqual(definition)
    },
  )

  test('of a workspace without its agents is refused there', async () => {
    const naming = define({
      graph: [
        { type: 'mapping', id: 'm', mapConfig: '{"prompt":{"value":"x"}}' },
        { type: 'agent', id: 'a', agentId: `${author.workspaceId}:writer` },
      ],
    })
    expect((await by(author)('POST', '/workflows/validate', naming)).body.valid).toBe(true)
    const stranger = await house.newPerson()
    expect((await by(stranger)('POST', '/workflows/validate', naming)).body.issues).toMatchObject([
      { code: 'unresolved-agent', path: 'graph.1.agentId' },
    ])
    // Its own primary agent counts before it was ever looked at, and looking at a definition does not make it.
    const own = JSON.parse(JSON.stringify(naming).replace(`${author.workspaceId}:writer`, 'assistant'))
    expect((await by(stranger)('POST', '/workflows/validate', own)).body.valid).toBe(true)
    const { db } = house.deps.database
    const made = await db
      .selectFrom('agents')
      .select('slug')
      .where('workspace_id', '=', stranger.workspaceId)
      .execute()
    expect(made).toEqual([])
  })
})

test('validate answers 200 to whatever is sent as a record', async () => {
  const call = by(person)
  for (const body of [
    {},
    { content: 5 },
    { content: '{' },
    { content: '[]' },
    { definition: null },
    { definition: 'x' },
  ]) {
    const { status, body: answer } = await call('POST', '/workflows/validate', body)
    expect([status, answer.valid]).toEqual([200, false])
    expect(answer.issues.length).toBeGreaterThan(0)
    expect((await call('POST', '/workflows/never/install', body)).status).toBe(400)
  }
  const many = define(Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`k${n}`, 0])))
  const long = await call('POST', '/workflows/validate', many)
  expect(long.body).toMatchObject({ valid: false, truncated: true })
  expect(long.body.issues).toHaveLength(100)
})

test('definitions made to hurt do not hold up anybody else', async () => {
  const many = <T>(count: number, make: (n: number) => T) => Array.from({ length: count }, (_, n) => make(n))
  const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth)
  const step = (n: number) => ({ type: 'tool', id: `s${n}`, toolId: 'echo' })
  const and = (n: number) => ({
    op: 'and',
    args: many(n, () => ({ op: 'truthy', value: { path: 'initData.a' } })),
  })
  const patterns = Object.fromEntries(many(400, (n) => [`p${n}`, { pattern: `^[a-f]{${n % 90}}x${n}$` }]))
  const doubling = Object.fromEntries(
    many(30, (n) => [
      `d${n}`,
      n < 29 ? { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] } : {},
    ]),
  )
  const hostile: unknown[] = [
    { content: `"${'x'.repeat(900_000)}"` },
    { content: `{"graph":${nested(40_000, '{"a":[', ']}')}}` },
    { content: '['.repeat(400_000) },
    define({ description: 'x'.repeat(900_000) }),
    define({ graph: many(20_000, step) }),
    define(Object.fromEntries(many(20_000, (n) => [`k${n}`, 0]))),
    define({
      graph: many(9, (e) => ({
        type: 'conditional',
        steps: many(50, (n) => step(e * 50 + n)),
        predicates: many(50, () => and(4)),
      })),
    }),
    define({ graph: [{ type: 'loop', loopType: 'dowhile', step: step(0), predicate: and(5000) }] }),
    define({ inputSchema: { properties: patterns } }),
    define({ inputSchema: { $defs: doubling, $ref: '#/$defs/d0' } }),
    define({ inputSchema: { pattern: '((((a{30}){30}){30}){30})' } }),
    define({
      graph: [
        { type: 'mapping', id: 'm', mapConfig: JSON.stringify({ a: { template: '${'.repeat(15_000) } }) },
      ],
    }),
  ]
  const call = by(person)
  const mostMs = 50
  let worst = { ms: 0, about: '' }
  for (const [index, value] of hostile.entries()) {
    const body = JSON.stringify(value)
    for (const path of ['/workflows/validate', '/workflows/hostile/install']) {
      let ms = Number.POSITIVE_INFINITY
      for (let turn = 0; turn < 3; turn++) {
        const { longestMs, result } = await longestTurn(() => call('POST', path, body))
        expect(result.status).toBeLessThan(500)
        ms = Math.min(ms, longestMs)
      }
      if (ms > worst.ms) worst = { ms, about: `${path} with number ${index}` }
    }
  }
  tell(`${hostile.length} hostile definitions; the longest turn: ${worst.ms.toFixed(1)} ms, ${worst.about}`)
  expectWithin(worst.ms, mostMs, worst.about)
})
