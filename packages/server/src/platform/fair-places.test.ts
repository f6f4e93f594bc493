import { expect, test } from 'vitest'
import { FairPlaces } from './fair-places.ts'

const forever = new AbortController().signal

/** Everybody who came, in the order in which they got a place; the first in leaves when the next is wanted. */
async function order(places: FairPlaces, coming: string[]): Promise<string[]> {
  const seen: string[] = []
  const leaving: (() => void)[] = []
  const all = coming.map(async (name) => {
    const leave = await places.take(name.charAt(0), forever)
    seen.push(name)
    leaving.push(leave)
  })
  for (let round = 0; seen.length < coming.length && round < 1000; round++) {
    await Promise.resolve()
    await new Promise((resolve) => setImmediate(resolve))
    leaving.shift()?.()
  }
  await Promise.all(all)
  return seen
}

test('owners take turns, and each in its own order', async () => {
  const coming = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1']
  expect(await order(new FairPlaces(1, 1), coming)).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4', 'a5'])
})

test('one owner has no more than its share, also when nobody else wants the rest', async () => {
  const places = new FairPlaces(4, 2)
  let inside = 0
  const took = Array.from({ length: 5 }, () =>
    places.take('a', forever).then((leave) => {
      inside++
      return leave
    }),
  )
  await new Promise((resolve) => setImmediate(resolve))
  expect(inside).toBe(2)
  const other = await places.take('b', forever)
  other()
  ;(await took[0])?.()
  await took[2]
  expect(inside).toBe(3)
})

test('who no longer wants a place is not given one', async () => {
  const places = new FairPlaces(1, 1)
  const leave = await places.take('a', forever)
  const leaving = new AbortController()
  const gone = places.take('b', leaving.signal)
  const next = places.take('c', forever)
  leaving.abort(new Error('gone'))
  await expect(gone).rejects.toThrow('gone')
  leave()
  ;(await next)()
  await expect(places.take('b', leaving.signal)).rejects.toThrow('gone')
  ;(await places.take('b', forever))()
})
