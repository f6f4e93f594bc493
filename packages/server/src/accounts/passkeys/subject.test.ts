import fc from 'fast-check'
import { expect, test } from 'vitest'
import { confirmSubject, createKeySubject, hashSubject } from './subject.ts'

test('the order of fields does not matter, at any depth', () => {
  const turnedAround = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(turnedAround)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([name, part]) => [name, turnedAround(part)]),
    )
  }
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (fields) => {
      const subject = { ...fields, purpose: 'x' }
      expect(hashSubject(turnedAround(subject) as typeof subject)).toEqual(hashSubject(subject))
    }),
  )
})

test('whatever else differs makes another subject', () => {
  const subjects = [
    { purpose: 'approve', id: 'a', scopes: ['x', 'y'] },
    { purpose: 'approve', id: 'a', scopes: ['y', 'x'] },
    { purpose: 'approve', id: 'a', scopes: ['x,y'] },
    { purpose: 'approve', id: 'a', scopes: ['x', 'y'], modes: { x: 'session' } },
    { purpose: 'approve', id: 'a', scopes: ['x', 'y'], modes: { x: 'one_time' } },
    { purpose: 'approve', id: 'a', scopes: ['x', 'y'], modes: JSON.parse('{"__proto__":"session"}') },
    { purpose: 'approve', id: 'a', scopes: ['x', 'y'], modes: {} },
    { purpose: 'confirm', id: 'a', scopes: ['x', 'y'] },
  ]
  expect(new Set(subjects.map((subject) => hashSubject(subject).toString('hex'))).size).toBe(subjects.length)
})

test('a key is the same subject however it is put', () => {
  const same = [
    createKeySubject({ scopes: ['b', 'a'] }),
    createKeySubject({ access: 'declared', scopes: ['a', 'b', 'a'] }),
  ]
  expect(same[0]).toEqual(same[1])
  expect(createKeySubject({})).toEqual({ purpose: 'create-key', access: 'full', scopes: [] })
  expect(createKeySubject({ access: 'declared' })).not.toEqual(createKeySubject({ access: 'full' }))
})

test('a code is the same however it is typed', () => {
  expect(confirmSubject(' abcd-efgh ', 'full')).toEqual(confirmSubject('ABCD-EFGH', 'full'))
})
