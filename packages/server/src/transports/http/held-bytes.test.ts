import { expect, test } from 'vitest'
import { HeldBytes } from './held-bytes.ts'

const most = { perCredential: 100, perAddress: 150, inAll: 200 }
const owner = (credential: string | undefined, address: string) => ({ credential, address })

test('one credential holds so much, over all of its requests, and others are not asked to wait for it', () => {
  const held = new HeldBytes(most)
  const [first, second] = [held.open(owner('a', 'x')), held.open(owner('a', 'y'))]
  expect(first.add(60)).toBe(true)
  expect(second.add(40)).toBe(true)
  expect(second.add(1)).toBe(false)
  expect(held.open(owner('b', 'x')).add(50)).toBe(true)
})

test('so much comes from one address, with whatever credentials or none', () => {
  const held = new HeldBytes(most)
  expect(held.open(owner('a', 'x')).add(100)).toBe(true)
  expect(held.open(owner(undefined, 'x')).add(51)).toBe(false)
  expect(held.open(owner(undefined, 'y')).add(10)).toBe(true)
})

test('and so much in all', () => {
  const held = new HeldBytes(most)
  for (const name of ['a', 'b']) expect(held.open(owner(name, name)).add(100)).toBe(true)
  expect(held.open(owner('c', 'c')).add(1)).toBe(false)
})

test('what was let go, once or twice, is nowhere any more', () => {
  const held = new HeldBytes(most)
  const holdings = ['a', 'b', 'c'].map((name) => held.open(owner(name, 'x')))
  for (const holding of holdings) holding.add(90)
  for (const holding of [...holdings, ...holdings]) holding.release()
  expect(held.all).toBe(0)
  expect(held.open(owner('a', 'x')).add(100)).toBe(true)
})
