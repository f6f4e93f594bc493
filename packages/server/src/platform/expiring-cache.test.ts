import { expect, test } from 'vitest'
import { ExpiringCache } from './expiring-cache.ts'

test('an answer is as old as the question', () => {
  const cache = new ExpiringCache<string>(10)
  const now = performance.now()
  cache.set('new', 'a', now, 60_000)
  cache.set('old', 'a', now - 60_000, 60_000)
  expect([cache.get('new'), cache.get('old')]).toEqual(['a', undefined])
})

test('what may not be believed at all is not, whatever the age says', () => {
  const cache = new ExpiringCache<string>(10)
  for (const age of [0, -1, Number.NaN]) {
    cache.set('ended', 'a', performance.now(), age)
    expect(cache.get('ended'), String(age)).toBeUndefined()
  }
})

test('it holds so many, and forgets what is no longer true', () => {
  const cache = new ExpiringCache<string>(2)
  for (const name of ['a', 'b', 'c']) cache.set(name, name, performance.now(), 60_000)
  expect(['a', 'b', 'c'].map((name) => cache.get(name))).toEqual([undefined, 'b', 'c'])
  cache.deleteWhere((value) => value === 'b')
  expect(['b', 'c'].map((name) => cache.get(name))).toEqual([undefined, 'c'])
})
