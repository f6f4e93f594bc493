import { expect, test } from 'vitest'
import { coverOf, noteOf, partsOf } from './action-parts.ts'

const summary = 'Make an agent'
const open = { method: 'POST', path: '/api/v1/agents' } as const
const bodySha256 = 'a'.repeat(64)

test.each([
  ['a route that takes any body', { request: open }, 'anyBody'],
  ['one whose body the agent describes', { request: open, args: { slug: 'a' }, diff: '+a' }, 'anyBody'],
  ['one whose body is bound', { request: { ...open, bodySha256 } }, 'bound'],
  ['one that has no body', { request: { ...open, method: 'DELETE' as const } }, 'bound'],
  ['no request', { args: { slug: 'a' } }, 'one_time'],
])('how far a single use reaches is told of %s', (_what, action, cover) => {
  expect(coverOf('one_time', { summary, ...action })).toBe(cover)
  expect(coverOf('session', { summary, ...action })).toBe('session')
})

test('an open body is told of also where nothing is shown, and words where nothing binds them', () => {
  expect(noteOf({ summary, request: open })).toBe('anyBody')
  expect(noteOf({ summary, request: { ...open, bodySha256 }, args: 1 })).toBe('notBound')
  expect(noteOf({ summary, request: { ...open, bodySha256 } })).toBeUndefined()
  expect(noteOf({ summary, request: { ...open, bodySha256 }, args: 1, argsAreBody: true })).toBeUndefined()
  expect(noteOf({ summary, args: 1 })).toBeUndefined()
})

test('what may be sent is the body alone, and no word of the agent', () => {
  const action = { summary, args: { slug: 'a' }, diff: '+harmless', tool: 'edit', estimatedCost: 1 }
  const told = (argsAreBody: boolean) =>
    partsOf({ ...action, argsAreBody }, false).map(({ title, tool, cost, blocks }) => ({
      title,
      said: [tool, cost],
      blocks: blocks.map(({ testId }) => testId),
    }))
  expect(told(true)).toEqual([
    { title: 'willSend', said: [undefined, undefined], blocks: ['action-args'] },
    { title: 'saysItWillRun', said: ['edit', 1], blocks: ['action-diff'] },
  ])
  expect(told(false)).toEqual([
    { title: 'saysItWillRun', said: ['edit', 1], blocks: ['action-args', 'action-diff'] },
  ])
})
