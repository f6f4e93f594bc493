import { expect, test } from 'vitest'
import { expectWithin } from '../../../../../test/support/proof.ts'
import { lintSkill } from './lint.ts'

const tools = ['bash', 'read_file']

function lint(files: Record<string, string | Buffer>, allowedTools: string[] = []) {
  const list = Object.entries(files).map(([path, content]) => ({ path, bytes: Buffer.from(content) }))
  return lintSkill(list, { text: String(files['SKILL.md'] ?? ''), allowedTools }, tools)
}

test('a plain skill gives no warning', () => {
  const text = '# Hello\nSee [more](docs/more.md), [here](#top). 👩‍👩‍👧 👍🏽 ❤️ naïve 日本語\n'
  const image = Buffer.concat([Buffer.from([0]), Buffer.from('\u202e https://binary.example')])
  expect(
    lint({ 'SKILL.md': `\ufeff${text}`, 'docs/more.md': '[up](../SKILL.md)', 'a.png': image }, tools),
  ).toEqual([])
})

test.each([
  ['right-to-left override', 'a\u202eb', 'U+202E'],
  ['isolate', 'a\u2066b', 'U+2066'],
  ['zero width space', 'a\u200bb', 'U+200B'],
  ['joiner between letters', 'a\u200db', 'U+200D'],
  ['word joiner', 'a\u2060b', 'U+2060'],
  ['byte order mark inside', 'a\ufeffb', 'U+FEFF'],
  ['tag letters', 'a\u{e0069}\u{e0067}', 'U+E0069, U+E0067'],
  ['many variation selectors', 'a\u{e0101}', 'U+E0101'],
  ['soft hyphen', 'pass\u00adword', 'U+00AD'],
  ['Hangul filler', 'a\u3164b', 'U+3164'],
])('hidden Unicode: %s', (_name, text, named) => {
  const [warning, ...rest] = lint({ 'SKILL.md': 'fine', 'scripts/run.py': `# one\n# two ${text}\n` })
  expect(rest).toEqual([])
  expect(warning).toMatchObject({ code: 'HIDDEN_UNICODE', path: 'scripts/run.py' })
  expect(warning?.message).toContain(named)
  expect(warning?.message).toContain('line 2')
})

test('links out are told by host, once a file; links to places outside are told too', () => {
  const warnings = lint({
    'SKILL.md':
      'Get https://evil.example/a, [b](https://EVIL.example/b) and http://[::1]:80/\n[c](../../etc/passwd)',
    'notes.md': '[a](/etc/passwd) [b](file:///etc/shadow) ![c](data:text/html,x)',
    'run.sh': 'curl https://scripts.are.read.elsewhere.example',
  })
  expect(warnings.map(({ code, path }) => `${code} ${path}`)).toEqual([
    'LINK_OUT SKILL.md',
    'LINK_OUT SKILL.md',
    'LINK_OUT notes.md',
  ])
  expect(warnings[0]?.message).toContain('evil.example, [::1]')
  expect(warnings[1]?.message).toContain('"../../etc/passwd"')
  expect(warnings[2]?.message).toContain('"/etc/passwd", "file:///etc/shadow", "data:text/html,x"')
})

test('instructions may have 500 lines and 20,000 characters', () => {
  expect(lint({ 'SKILL.md': 'x\n'.repeat(499) })).toEqual([])
  expect(lint({ 'SKILL.md': 'x\n'.repeat(500) })).toMatchObject([{ code: 'INSTRUCTIONS_TOO_LONG' }])
  expect(lint({ 'SKILL.md': 'x'.repeat(20_001) })).toMatchObject([{ code: 'INSTRUCTIONS_TOO_LONG' }])
})

test('tools that do not exist are named once; what one may do with a tool is no part of its name', () => {
  const warnings = lint({ 'SKILL.md': 'x' }, [
    'bash(ls:*)',
    'launch\u0007rockets',
    'read_file',
    'launch\u0007rockets',
  ])
  expect(warnings).toMatchObject([{ code: 'UNKNOWN_TOOL', path: 'SKILL.md' }])
  expect(warnings[0]?.message).toContain('"launch\\u0007rockets"')
})

test('the work and the answer stay bounded on the largest hostile bundle', () => {
  const piece = Buffer.from('](](((<https://a.https://http://x\u200d\u202e\u{e0041}[[(../'.repeat(400))
  const files = Array.from({ length: 500 }, (_, i) => ({ path: `${i}.md`, bytes: piece }))
  expect(files.length * piece.length).toBeGreaterThan(8_000_000)
  const startedAt = performance.now()
  const warnings = lintSkill(files, { text: piece.toString(), allowedTools: Array(10_000).fill('x(') }, tools)
  expectWithin(performance.now() - startedAt, 2000)
  expect(warnings).toHaveLength(100)
  expect(JSON.stringify(warnings).length).toBeLessThan(100_000)
})
