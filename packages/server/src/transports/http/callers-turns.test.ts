import { describe, expect, test } from 'vitest'
import { CallersTurns } from './callers-turns.ts'

/** Enters requests by name, and tells which have begun. */
function entering(places = 4, mostTicks = 3) {
  const turns = new CallersTurns({ places, mostTicks })
  const begun: string[] = []
  const enter = (caller: string, name: string, count = 1, person = caller) =>
    turns.enter({ caller, person }, count, () => void begun.push(name))
  return { turns, begun, enter }
}

const ticks = (turns: CallersTurns, count: number) => {
  for (let tick = 0; tick < count; tick++) turns.tick()
}

test('of one caller so many begin, the others when these end, in the order of coming', () => {
  const { turns, begun, enter } = entering()
  const leaves = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => enter('one', name))
  expect(begun).toEqual(['a', 'b', 'c', 'd'])
  expect(turns.waiting).toBe(2)
  leaves[2]?.()
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e'])
  // A second time it gives nothing back.
  leaves[2]?.()
  expect(begun).toHaveLength(5)
  for (const leave of leaves) leave()
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
})

test('nobody waits for another caller', () => {
  const { begun, enter } = entering()
  for (const name of ['a', 'b', 'c', 'd', 'e']) enter('one', name)
  enter('other', 'theirs', 99)
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'theirs'])
})

test('what is large takes more places, what is too large all of them, and what came later does not pass it', () => {
  const { begun, enter } = entering()
  const small = enter('one', 'small')
  const large = enter('one', 'large', 99)
  const half = enter('one', 'half', 2)
  enter('one', 'other half', 2)
  enter('one', 'last')
  expect(begun).toEqual(['small'])
  small()
  expect(begun).toEqual(['small', 'large'])
  large()
  expect(begun).toEqual(['small', 'large', 'half', 'other half'])
  half()
  expect(begun).toEqual(['small', 'large', 'half', 'other half', 'last'])
})

test('a turn is over after so many ticks, for who waits, and not by itself', () => {
  const { turns, begun, enter } = entering(1)
  const first = enter('one', 'first')
  ticks(turns, 2)
  const second = enter('one', 'second')
  enter('one', 'third')
  expect(begun).toEqual(['first'])
  ticks(turns, 1)
  expect(begun).toEqual(['first', 'second'])
  // It ends after its turn did: no place is left over for that.
  first()
  expect(begun).toEqual(['first', 'second'])
  second()
  expect(begun).toEqual(['first', 'second', 'third'])
  ticks(turns, 99)
  enter('one', 'fourth')
  expect(begun).toEqual(['first', 'second', 'third', 'fourth'])
})

test('who gives up while waiting does not begin', () => {
  const { turns, begun, enter } = entering(1)
  const first = enter('one', 'first')
  enter('one', 'second')()
  first()
  ticks(turns, 99)
  expect(begun).toEqual(['first'])
})

test('of who has nothing under way nothing is kept', () => {
  const { turns, enter } = entering(2, 1)
  const leaves = ['a', 'b', 'c', 'd', 'e'].map((name) => enter('one', name))
  ticks(turns, 5)
  for (const leave of leaves.slice(0, 4)) leave()
  expect(turns.callers).toBe(1)
  leaves[4]?.()
  expect([turns.callers, turns.waiting]).toEqual([0, 0])
})

test('what ends after its turn forgets no later line of its caller', () => {
  const { turns, begun, enter } = entering(1, 1)
  const old = enter('one', 'old')
  const next = enter('one', 'next')
  ticks(turns, 1)
  next()
  enter('one', 'newer')
  old()
  enter('one', 'newest')
  expect(begun).toEqual(['old', 'next', 'newer'])
})

describe('the callers of one person', () => {
  const enteringAs = () => {
    const all = entering(2)
    return { ...all, enter: (caller: string, name: string, count = 1) => all.enter(caller, name, count, 'p') }
  }

  test('have twice what one has together, and are let in in turn', () => {
    const { turns, begun, enter } = enteringAs()
    const leaves = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'b3', 'c1'].map((name) => enter(name.charAt(0), name))
    expect(begun).toEqual(['a1', 'a2', 'b1', 'b2'])
    for (const at of [0, 1, 4, 5]) leaves[at]?.()
    expect(begun.slice(4)).toEqual(['a3', 'c1', 'b3', 'a4'])
    for (const leave of leaves) leave()
    expect([turns.callers, turns.waiting]).toEqual([0, 0])
  })

  test('wait for what is large of another, which nothing small passes', () => {
    const { begun, enter } = enteringAs()
    const leaves = ['a1', 'a2', 'b1'].map((name) => enter(name.charAt(0), name))
    enter('c', 'large', 2)
    enter('d', 'small')
    expect(begun).toEqual(['a1', 'a2', 'b1'])
    leaves[0]?.()
    expect(begun.slice(3)).toEqual(['large'])
    leaves[1]?.()
    expect(begun.slice(3)).toEqual(['large', 'small'])
  })

  test('get the places of turns that are over, which give nothing back twice', () => {
    const { turns, begun, enter } = enteringAs()
    const leaves = ['a1', 'a2', 'b1', 'b2'].map((name) => enter(name.charAt(0), name))
    enter('c', 'c1')
    enter('d', 'd1')
    ticks(turns, 3)
    expect(begun.slice(4)).toEqual(['c1', 'd1'])
    for (const leave of leaves) leave()
    for (const name of ['e1', 'e2', 'f1']) enter(name.charAt(0), name)
    expect(begun.slice(6)).toEqual(['e1', 'e2'])
  })
})
