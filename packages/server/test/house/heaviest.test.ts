import { runInThisContext } from 'node:vm'
import { expect, test } from 'vitest'
import { JsonMeter } from '#operations/json-values.ts'
import { countHeaviest, mostBytes, mostSteps } from '../support/count-heaviest.ts'
import { heavyWrites } from '../support/heavy-calls.ts'

// The other half is in `heaviest-writes.test.ts`: counting is slow.
const counter = countHeaviest(heavyWrites.filter((_, index) => index % 2 === 0))

/** What takes a step for every pair of values, at the least and the usual of the limits. */
test.each([
  ['from anybody', 8 * 1024],
  ['of the usual size', 256 * 1024],
])('a walk over all pairs in a body %s would be seen', async (_about, bytes) => {
  const values = Math.min(4900, Math.floor(bytes / 10))
  const walk = runInThisContext(
    '(names) => { let same = 0; for (const one of names) for (const other of names) if (one === other) same++; return same }',
    { filename: 'planted.js' },
  ) as (names: readonly string[]) => number
  const names = Array.from({ length: values }, (_, index) => `n${index}`)
  walk(names)
  expect(await counter().takeSteps()).toBeGreaterThan(mostSteps(1000, bytes))
})

test('the turns of a loop are counted, also in what every request has gone through before', async () => {
  const turns = 100_000
  await counter().takeSteps()
  new JsonMeter(turns).take(Buffer.alloc(turns, ' '))
  expect(await counter().takeSteps()).toBeGreaterThan(turns)
})

test('what is made of much that was not sent would be seen', async () => {
  const make = runInThisContext(
    `(done) => setTimeout(() => {
      const all = []
      for (let n = 0; n < 9e6; n++) all.push({ n })
      done(all.length)
    })`,
    { filename: 'planted.js' },
  ) as (done: (made: number) => void) => void
  expect(await counter().bytesOf(() => new Promise(make))).toBeGreaterThan(mostBytes)
})
