import { expect, test } from 'vitest'
import { HeldBytes } from './held-bytes.ts'

const most = { perCredential: 100, perPerson: 120, perAddress: 150, inAll: 400 }
const owner = (credential: string | undefined, address: string, person = credential) => ({
  credential,
  person,
  address,
})

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

test('so much is of one person, with however many credentials and from wherever', () => {
  const held = new HeldBytes(most)
  expect(held.open(owner('a', 'x', 'p')).add(100)).toBe(true)
  expect(held.open(owner('b', 'y', 'p')).add(21)).toBe(false)
  expect(held.open(owner('c', 'y', 'q')).add(21)).toBe(true)
})

test('and so much in all, of which the last quarter is for who holds little', () => {
  const held = new HeldBytes(most)
  for (const name of ['a', 'b', 'c']) expect(held.open(owner(name, name)).add(100)).toBe(true)
  const large = held.open(owner('d', 'd'))
  expect(large.add(10)).toBe(false)
  large.release()
  for (let count = 0; count < 16; count++)
    expect(held.open(owner(`e${count}`, `e${count}`)).add(6)).toBe(true)
  expect(held.open(owner('f', 'f')).add(5)).toBe(false)
})

test('what was let go, once or twice, is nowhere any more', () => {
  const held = new HeldBytes(most)
  const holdings = ['a', 'b', 'c'].map((name) => held.open(owner(name, 'x')))
  for (const holding of holdings) holding.add(90)
  for (const holding of [...holdings, ...holdings]) holding.release()
  expect(held.all).toBe(0)
  expect(held.open(owner('a', 'x')).add(100)).toBe(true)
})
