import { expect, test } from 'vitest'
import { expectWithin } from '../../../../../test/support/proof.ts'
import { readSkillFile } from './skill-file.ts'

const skillWith = (head: string) => Buffer.from(`---\n${head}\n---\n`)

test.each([
  ['open lists', `a: ${'['.repeat(19_000)}`],
  ['commas', `a: [${','.repeat(19_000)}`],
  ['directives', '%a\n'.repeat(6000)],
  ['equal names', `a: {${'a, '.repeat(6000)}}`],
  ['open quotes', '"'.repeat(19_000)],
])('front matter of %s is refused and holds nothing up', (_what, head) => {
  const started = process.threadCpuUsage()
  expect(() => readSkillFile(skillWith(head))).toThrow(/SKILL.md/)
  const { user, system } = process.threadCpuUsage(started)
  expectWithin((user + system) / 1000, 250)
})

test('what a front matter says makes this process say nothing', async () => {
  const warnings: Error[] = []
  const hear = (warning: Error) => warnings.push(warning)
  process.on('warning', hear)
  const skill = readSkillFile(
    skillWith('name: tidy\ndescription: !secret guild_live_x\nmetadata: { a: !b 1 }'),
  )
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', hear)
  expect(skill.name).toBe('tidy')
  expect(warnings).toEqual([])
})
