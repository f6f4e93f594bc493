import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import { budgets } from './budgets.ts'
import { type GateOptions, runGate } from './gate.ts'
import type { Step } from './plan.ts'

/** Faults planted in real test files, run by a real vitest: what the gate says of them. */
const root = join(import.meta.dirname, '../..')
const folders: string[] = []
let folder: string

// Each starts a vitest or three, beside whatever else the gate has under way.
vi.setConfig({ testTimeout: 240_000 })

beforeEach(() => {
  mkdirSync(join(root, 'build'), { recursive: true })
  folder = mkdtempSync(join(root, 'build/planted-'))
  folders.push(folder)
  configure(2_000)
})

function configure(testTimeout: number, globalSetup: readonly string[] = []): void {
  const setupFiles = [join(import.meta.dirname, 'in-worker.ts')]
  const config = { test: { maxWorkers: 1, testTimeout, setupFiles, globalSetup } }
  writeFileSync(join(folder, 'vitest.config.mjs'), `export default ${JSON.stringify(config)}`)
}

afterAll(() => {
  for (const path of folders) rmSync(path, { recursive: true, force: true })
})

function plant(name: string, body: string): void {
  writeFileSync(
    join(folder, `${name}.test.ts`),
    `import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
test('${name}', async () => { ${body} })`,
  )
}

/** What fails the first time only, as in a machine's bad moment. */
const failsOnce = (name: string) => {
  const mark = JSON.stringify(join(folder, `${name}.was-run`))
  return `const before = existsSync(${mark}); writeFileSync(${mark}, ''); expect(before).toBe(true)`
}

const planted = (): Step => ({
  name: 'planted',
  command: join(root, 'node_modules/.bin/vitest'),
  args: ['run', '--root', folder, `--reporter=${join(import.meta.dirname, 'reporter.ts')}`],
  reports: true,
})

/** A reporting step that says what it is told to, and how it ends. */
const says = (lines: readonly object[], end = 'exit 0'): Step => ({
  name: 'says',
  command: 'sh',
  args: [
    '-c',
    `printf %s "$0" > "$GATE_REPORT"; ${end}`,
    lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
  ],
  reports: true,
})
const ended = (file: string, ok = true) => ({
  kind: 'ended',
  file,
  ok,
  passed: ok ? ['a'] : [],
  failures: [],
  slowTests: [],
  ms: 1,
})

async function gate(options: Partial<GateOptions> = {}): Promise<{ isGreen: boolean; said: string }> {
  const lines: string[] = []
  const isGreen = await runGate({
    plan: [[[planted()]]],
    deadlineMs: 60_000,
    mostSecondChances: 5,
    looksAtInvariants: () => false,
    budgets,
    subject: () => 'what was planted',
    expected: [],
    say: (line) => lines.push(line),
    ...options,
  })
  const said = lines.join('\n')
  const kept = /^logs in (.*)$/m.exec(said)?.[1]
  if (kept !== undefined) folders.push(kept)
  return { isGreen, said }
}

test('is green when all passes, and leaves no folder', async () => {
  plant('right', '')
  const { isGreen, said } = await gate()
  expect(said).toContain('1 passed, 0 failed')
  expect(said).not.toContain('logs in')
  expect(isGreen).toBe(true)
})

test('a file that fails once and passes alone is green and named', async () => {
  plant('right', '')
  plant('shaky', failsOnce('shaky'))
  const { isGreen, said } = await gate()
  expect(said).toMatch(/^second chance: .*shaky\.test\.ts passed alone \(.* % taken by others\)$/m)
  expect(said).toMatch(/^ +had failed \(.* % taken by others\): shaky$/m)
  expect(said).toContain('2 passed, 0 failed')
  expect(isGreen).toBe(true)
})

test('a hook that fails once is a file that fails once', async () => {
  const mark = JSON.stringify(join(folder, 'hook.was-run'))
  writeFileSync(
    join(folder, 'hook.test.ts'),
    `import { existsSync, writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
describe('of it', () => {
  beforeAll(() => { const before = existsSync(${mark}); writeFileSync(${mark}, ''); expect(before).toBe(true) })
  test('one', () => {})
})
test('beside', () => {})`,
  )
  const { isGreen, said } = await gate()
  expect(said).toMatch(/^second chance: .*hook\.test\.ts passed alone/m)
  expect(isGreen).toBe(true)
})

test('a file that fails twice is red, with both reasons', async () => {
  plant('wrong', 'expect(1).toBe(2)')
  const { isGreen, said } = await gate()
  expect(said).toMatch(/^failed once: .*wrong\.test\.ts > wrong$/m)
  expect(said).toMatch(/^RED {2}failed twice: .*wrong\.test\.ts$/m)
  expect(isGreen).toBe(false)
})

test('six that fail once are red and are not run again', async () => {
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) plant(name, failsOnce(name))
  const { isGreen, said } = await gate()
  expect(said).toContain('RED  6 files failed, more than 5: no second chance')
  expect(said).not.toContain('again-1')
  expect(isGreen).toBe(false)
})

test('a violated invariant has no second chance; one that only came late has', async () => {
  plant('ledger', failsOnce('ledger'))
  const looksAtInvariants = (file: string) => file.endsWith('ledger.test.ts')
  const violated = await gate({ looksAtInvariants })
  expect(violated.said).toMatch(/^RED {2}an invariant, so no second chance: .*ledger\.test\.ts > ledger$/m)
  expect(violated.isGreen).toBe(false)

  const mark = JSON.stringify(join(folder, 'late.was-run'))
  plant('ledger', `if (!existsSync(${mark})) { writeFileSync(${mark}, ''); await new Promise(() => {}) }`)
  const late = await gate({ looksAtInvariants })
  expect(late.said).toMatch(/^second chance: .*ledger\.test\.ts passed alone/m)
  expect(late.isGreen).toBe(true)
})

test('a test that waits for ever is ended at its limit and named', async () => {
  plant('waits', 'await new Promise(() => {})')
  const { isGreen, said } = await gate()
  expect(said).toMatch(/^failed once: .*waits\.test\.ts > waits\n.*Test timed out in 2000ms/m)
  expect(isGreen).toBe(false)
})

test('a test that never gives the thread back is ended when it is silent, and named', async () => {
  plant('turns', 'for (;;);')
  const { isGreen, said } = await gate({ budgets: { ...budgets, silentMs: 20_000 } })
  expect(said).toMatch(/^RED {2}hung, and ended: .*turns\.test\.ts > turns$/m)
  expect(isGreen).toBe(false)
})

test('at the deadline it is red and says what was not run', async () => {
  // What a reporter says, said at once: a vitest may need longer than the deadline to begin.
  const said = [
    { kind: 'planned', files: ['long.test.ts', 'next.test.ts'] },
    { kind: 'begun', file: 'long.test.ts' },
    { kind: 'testing', file: 'long.test.ts', test: 'first' },
    { kind: 'tested', file: 'long.test.ts', test: 'first' },
    { kind: 'testing', file: 'long.test.ts', test: 'second' },
  ]
  const long = { ...says(said, 'sleep 60'), name: 'long' }
  const { isGreen, said: heard } = await gate({
    plan: [[[long, { ...long, name: 'later' }]]],
    deadlineMs: 3_000,
  })
  expect(heard).toContain('RED  cut off: long.test.ts > second')
  expect(heard).toContain('RED  not run: next.test.ts')
  expect(heard).toContain('RED  not run: all of later')
  expect(heard).toContain('RED  the deadline of 0:03 was reached')
  expect(isGreen).toBe(false)
})

test('interrupted it ends what is under way, is red and says what was not run', async () => {
  const sleeps = { command: 'sh', args: ['-c', 'sleep 60'], reports: true }
  const interrupted = new AbortController()
  setTimeout(() => interrupted.abort(), 500)
  const { isGreen, said } = await gate({
    plan: [
      [
        [
          { name: 'long', ...sleeps },
          { name: 'later', ...sleeps },
        ],
      ],
    ],
    interrupted: interrupted.signal,
  })
  expect(said).toContain('interrupted: ending long')
  expect(said).toContain('RED  not run: all of later')
  expect(isGreen).toBe(false)
})

test('what goes wrong after the tests is red, although a file failed and passed alone', async () => {
  const mark = JSON.stringify(join(folder, 'set-up.was-run'))
  writeFileSync(
    join(folder, 'set-up.mjs'),
    `import { existsSync, writeFileSync } from 'node:fs'
export default () => () => {
  const before = existsSync(${mark})
  writeFileSync(${mark}, '')
  if (!before) throw new Error('the stack ended with 1')
}`,
  )
  configure(2_000, [join(folder, 'set-up.mjs')])
  plant('shaky', failsOnce('shaky'))
  const { isGreen, said } = await gate()
  expect(said).toMatch(/^second chance: .*shaky/m)
  expect(said).toMatch(/^RED {2}planted did not end in order:/m)
  expect(isGreen).toBe(false)
})

test('a step that hangs after its tests is red, although a file failed and passed alone', async () => {
  const mark = JSON.stringify(join(folder, 'set-up.was-run'))
  writeFileSync(
    join(folder, 'set-up.mjs'),
    `import { existsSync, writeFileSync } from 'node:fs'
export default () => async () => {
  const before = existsSync(${mark})
  writeFileSync(${mark}, '')
  if (!before) for (;;);
}`,
  )
  configure(2_000, [join(folder, 'set-up.mjs')])
  plant('shaky', failsOnce('shaky'))
  const { isGreen, said } = await gate({ budgets: { ...budgets, silentMs: 12_000 } })
  expect(said).toMatch(/^second chance: .*shaky/m)
  expect(said).toMatch(/^RED {2}planted did not end by itself:/m)
  expect(isGreen).toBe(false)
})

test.each([
  ['nothing at all', [], 'says has run no file'],
  ['all but its last words', [ended('a.test.ts')], 'says has not told all that it did'],
  [
    'of fewer files than there were',
    [ended('a.test.ts'), { kind: 'over', files: 2, failed: 1 }],
    'says has not told all that it did',
  ],
  [
    'of a file without a test',
    [
      { ...ended('a.test.ts'), passed: [] },
      { kind: 'over', files: 1, failed: 0 },
    ],
    'no test of it was run: a.test.ts',
  ],
])('a step that passes and tells %s is red', async (_what, lines, reason) => {
  const { isGreen, said } = await gate({ plan: [[[says(lines)]]] })
  expect(said).toContain(`RED  ${reason}`)
  expect(isGreen).toBe(false)
})

test('a test file that no step has run is red', async () => {
  plant('right', '')
  const { isGreen, said } = await gate({ expected: ['somewhere/else.test.ts'] })
  expect(said).toContain('RED  no step has run it: somewhere/else.test.ts')
  expect(isGreen).toBe(false)
})

test('a counterexample is not drawn again, nor a test dodged, and each is named', async () => {
  plant(
    'drawn',
    `${failsOnce('drawn').replace('expect(before)', "if (!before) throw new Error('Property failed after 63 tests'); expect(before)")}`,
  )
  const dodges = {
    promised: "test.todo('promised')",
    inverted: "test.fails('inverted', () => { throw new Error('x') })",
    leaving: "test('leaving', (context) => context.skip())",
    retried: `let tries = 0; test('retried', { retry: 3 }, () => expect(++tries).toBe(2))`,
  }
  for (const [name, source] of Object.entries(dodges))
    writeFileSync(
      join(folder, `${name}.test.ts`),
      `import { expect, test } from 'vitest'\n${source}\ntest('beside', () => {})`,
    )
  const { isGreen, said } = await gate()
  for (const name of ['drawn', ...Object.keys(dodges)])
    expect(said).toMatch(new RegExp(`^RED {2}no second chance: .*${name}\\.test\\.ts > ${name}$`, 'm'))
  expect(said).not.toContain('again-1')
  expect(isGreen).toBe(false)
})

test('what failed has to be among what passes alone', async () => {
  const mark = JSON.stringify(join(folder, 'gone.was-run'))
  writeFileSync(
    join(folder, 'gone.test.ts'),
    `import { existsSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
const before = existsSync(${mark}); writeFileSync(${mark}, '')
test('beside', () => {})
if (!before) test('gone', () => expect(1).toBe(2))`,
  )
  const { isGreen, said } = await gate()
  expect(said).toMatch(/^RED {2}failed, and was not run again: .*gone\.test\.ts > gone$/m)
  expect(isGreen).toBe(false)
})

test('a process left alive is named, ended and red', async () => {
  plant(
    'leaves',
    `spawn('sleep', ['3030'], { detached: true, stdio: 'ignore' }).unref()
    spawn('sleep', ['3031'], { detached: true, stdio: 'ignore', env: {}, cwd: process.env.TMPDIR }).unref()`,
  )
  const { isGreen, said } = await gate()
  for (const left of [/^RED {2}left alive: (\d+) sleep 3030$/m, /^RED {2}left alive: (\d+) sleep 3031$/m]) {
    const pid = left.exec(said)?.[1]
    expect(pid).toBeDefined()
    await expect.poll(() => readdirSync('/proc').includes(pid ?? '')).toBe(false)
  }
  expect(isGreen).toBe(false)
})

test('a file that costs three times its budget is red', async () => {
  plant('dear', 'const end = process.cpuUsage().user + 300_000; while (process.cpuUsage().user < end);')
  const { isGreen, said } = await gate({ budgets: { ...budgets, fileCpuMs: 300 } })
  expect(said).toMatch(/^RED {2}too dear: .*dear\.test\.ts took \d+ s of CPU/m)
  expect(isGreen).toBe(false)
})

test('no test at all is red', async () => {
  const { isGreen, said } = await gate()
  expect(said).toContain('RED  no test was run')
  expect(isGreen).toBe(false)
})

test('an error that belongs to no test is red', async () => {
  plant(
    'stray',
    "setTimeout(() => { throw new Error('stray') }); await new Promise((go) => setTimeout(go, 50))",
  )
  const { isGreen, said } = await gate()
  expect(said).toMatch(/^RED {2}planted: an error that belongs to no test\n.*stray/m)
  expect(isGreen).toBe(false)
})

test('a program that fails is red, with its last words', async () => {
  const step: Step = { name: 'check', command: 'sh', args: ['-c', 'echo why; exit 3'], reports: false }
  const { isGreen, said } = await gate({ plan: [[[step]]] })
  expect(said).toContain('RED  check failed:\n    why')
  expect(isGreen).toBe(false)
})
