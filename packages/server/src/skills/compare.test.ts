import { expect, test } from 'vitest'
import { compareFiles } from './compare.ts'

const file = (path: string, content: string | Buffer) => ({ path, bytes: Buffer.from(content) })

test('tells added, removed and changed files apart and leaves equal ones out', () => {
  const before = [file('SKILL.md', 'one\ntwo\n'), file('gone.txt', 'x\n'), file('same', 'y')]
  const after = [file('SKILL.md', 'one\n2\n'), file('new.txt', 'z\n'), file('same', 'y')]
  const changes = compareFiles(before, after)
  expect(changes.map(({ path, change }) => [path, change])).toEqual([
    ['SKILL.md', 'changed'],
    ['gone.txt', 'removed'],
    ['new.txt', 'added'],
  ])
  expect(changes[0]?.diff).toContain('--- a/SKILL.md\n+++ b/SKILL.md\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n')
  expect(changes[2]?.diff).toContain('--- /dev/null\n')
})

test('does not compare what is no text or too large', () => {
  const changes = compareFiles(
    [file('a.png', Buffer.from([0, 1])), file('big', 'a'.repeat(300_000))],
    [file('a.png', Buffer.from([0, 2])), file('big', 'b'.repeat(300_000))],
  )
  expect(changes.map(({ diff }) => diff)).toEqual([null, null])
})

test('gives up on files that differ everywhere rather than hold the process', () => {
  const lines = (seed: number) =>
    Array.from({ length: 20_000 }, (_, line) => `${(line * seed) % 99_991}`).join('\n')
  const started = performance.now()
  compareFiles([file('a', lines(7919))], [file('a', lines(104_729))])
  expect(performance.now() - started).toBeLessThan(2000)
})
