import { routes } from '@guildhall/contract'
import { describe, expect, test } from 'vitest'
import { type Citation, findCitations, findProblems, readCitations } from './coverage.ts'
import { featurePlaces, findOverdue } from './features.ts'
import { type Requirement, requirements } from './requirements.ts'

test('every rule is either verified by a test that cites it, or pending', () => {
  const { citations, problems } = readCitations()
  expect([...problems, ...findProblems(requirements, citations)]).toEqual([])
})

test('no rule waits for a feature that is there', () => {
  const paths = Object.values(routes).map(({ path }) => path)
  expect(findOverdue(requirements, paths)).toEqual([])
})

const rule = (id: string, more: Partial<Requirement> = {}): Requirement => ({
  id,
  area: 'keys',
  line: 1,
  rule: 'It is so.',
  kind: 'state',
  ...more,
})

describe('the check finds planted mistakes', () => {
  const citation = (id: string, stackOnly = false): Citation => ({ id, stackOnly, place: 'a.test.ts:1' })

  test('nothing to say about a manifest and tests that agree', () => {
    const manifest = [
      rule('keys:a'),
      rule('keys:b', { pending: 'house' }),
      rule('keys:c', { needs: 'clock' }),
    ]
    expect(findProblems(manifest, [citation('keys:a'), citation('keys:c', true)])).toEqual([])
  })

  test.each<[mistake: string, manifest: Requirement[], citations: Citation[], problem: RegExp]>([
    ['a rule without a test', [rule('keys:a')], [], /keys:a: not pending, yet no test/],
    [
      'a pending rule with a test',
      [rule('keys:a', { pending: 'house' })],
      [citation('keys:a')],
      /keys:a: pending, yet cited in a\.test\.ts:1/,
    ],
    ['an unknown rule', [], [citation('keys:a')], /keys:a: cited in a\.test\.ts:1 but no such rule/],
    ['a rule twice', [rule('keys:a'), rule('keys:a')], [citation('keys:a')], /keys:a: stands twice/],
    ['an id of another area', [rule('auth:a')], [citation('auth:a')], /auth:a: its area is keys/],
    [
      'a rule about HTTP tested only with a stack',
      [rule('keys:a')],
      [citation('keys:a', true)],
      /keys:a: needs nothing but HTTP/,
    ],
    [
      'a rule about time tested without a clock',
      [rule('keys:a', { needs: 'clock' })],
      [citation('keys:a')],
      /keys:a: needs a clock/,
    ],
  ])('%s', (_mistake, manifest, citations, problem) => {
    expect(findProblems(manifest, citations)).toEqual([expect.stringMatching(problem)])
  })
})

describe('the check of features finds planted mistakes', () => {
  const places = { skills: ['/api/v1/skills', '/api/v1/marketplace'], mcp: ['/mcp'] }
  const waiting = [rule('keys:a', { pending: 'skills' }), rule('keys:b', { pending: 'mcp' }), rule('keys:c')]

  test.each<[state: string, paths: string[]]>([
    ['none of its routes', []],
    ['some of its routes', ['/api/v1/skills', '/api/v1/skills/:slug']],
  ])('nothing to say while a feature has %s', (_state, paths) => {
    expect(findOverdue(waiting, paths, places)).toEqual([])
  })

  test.each<[mistake: string, paths: string[], problem: string]>([
    [
      'a rule that waits for routes that are there',
      ['/api/v1/skills/:slug/run', '/api/v1/marketplace/skills'],
      'keys:a: pending, yet skills has its routes',
    ],
    ['a rule that waits for a feature of one route', ['/mcp'], 'keys:b: pending, yet mcp has its routes'],
    ['a route of no feature', ['/api/v1/new'], '/api/v1/new: a route of no feature'],
    ['a route that only begins like one', ['/mcpx'], '/mcpx: a route of no feature'],
  ])('%s', (_mistake, paths, problem) => {
    expect(findOverdue(waiting, paths, places)).toEqual([problem])
  })

  test('no feature is without a place', () => {
    for (const [feature, own] of Object.entries(featurePlaces)) expect(own, feature).not.toEqual([])
  })
})

describe('citations are read from the syntax', () => {
  const ids = (text: string) => findCitations('a.test.ts', text).citations.map(({ id }) => id)
  const problems = (text: string) => findCitations('a.test.ts', text).problems

  test('of tests, parametrised tests and tests that need a stack', () => {
    expect(ids("test('x', async () => { verifies('keys:a', 'keys:b')\n })")).toEqual(['keys:a', 'keys:b'])
    expect(ids("test.each([1])('x', () => { verifies('keys:a') })")).toEqual(['keys:a'])
    expect(findCitations('a.test.ts', "\nstackOnly('x', () => { verifies('keys:a') })").citations).toEqual([
      { id: 'keys:a', stackOnly: true, place: 'a.test.ts:2' },
    ])
  })

  test('and not of comments or strings', () => {
    expect(ids("// test('x', () => { verifies('keys:a') })")).toEqual([])
    expect(ids("const text = \"test('x', () => { verifies('keys:a') })\"")).toEqual([])
  })

  test('and a call out of place is a problem, not a citation', () => {
    expect(problems("verifies('keys:a')")).toHaveLength(1)
    expect(ids("test('x', () => { work(); verifies('keys:a') })")).toEqual([])
    expect(problems("test('x', () => { work(); verifies('keys:a') })")).toHaveLength(1)
    expect(problems("test('x', () => { verifies(id) })")).toHaveLength(1)
  })
})
