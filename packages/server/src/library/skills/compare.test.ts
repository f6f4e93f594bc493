import { expect, test } from 'vitest'
import { expectWithin } from '../../../../../test/support/proof.ts'
import { compareFiles } from './compare.ts'

const time = { totalMs: 1000, perFileMs: 200 }
const pair = (path: string, before: string | Buffer | undefined, after: string | Buffer | undefined) => ({
  path,
  before: before === undefined ? undefined : Buffer.from(before),
  after: after === undefined ? undefined : Buffer.from(after),
})

test('writes unified diffs of what changed, came and went', () => {
  const [changed, gone, fresh] = compareFiles(
    [
      pair('SKILL.md', 'one\ntwo\n', 'one\n2\n'),
      pair('gone.txt', 'x\n', undefined),
      pair('new.txt', undefined, 'z\n'),
    ],
    time,
  )
  expect(changed?.diff).toContain('--- a/SKILL.md\n+++ b/SKILL.md\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n')
  expect(gone?.diff).toContain('+++ /dev/null\n')
  expect(fresh?.diff).toContain('--- /dev/null\n')
})

test('does not compare what is no text', () => {
  const noText = [
    pair('a.png', Buffer.from([0, 1]), Buffer.from([0, 2])),
    pair('latin', Buffer.from([0xe9, 0x20]), 'e'),
  ]
  expect(compareFiles(noText, time)).toEqual([
    { diff: null, omitted: 'binary' },
    { diff: null, omitted: 'binary' },
  ])
})

/** Two texts that have nothing in common. */
const lines = (seed: number) =>
  Array.from({ length: 20_000 }, (_, line) => `${(line * seed) % 99_991}`).join('\n')

test('gives up on files that differ everywhere, each after its share and all after the time of the request', () => {
  const rewritten = Array.from({ length: 20 }, (_, n) => pair(`f${n}`, lines(7919), lines(104_729)))
  const started = performance.now()
  const found = compareFiles(rewritten, time)
  expectWithin(performance.now() - started, 3000)
  expect(found[0]).toEqual({ diff: null, omitted: 'too-different' })
  expect(found.at(-1)).toEqual({ diff: null, omitted: 'over-budget' })
})
