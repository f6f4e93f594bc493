import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findClockJudges } from '../support/clock-judges.ts'

const root = join(import.meta.dirname, '../../../..')

/** The one place where a clock is judged. */
const judges = ['test/support/proof.ts']

test('no test of the gate judges a clock', () => {
  const files = globSync(
    [
      'packages/*/src/**/*.test.ts',
      'packages/*/test/**/*.ts',
      '{stack,scripts,bench}/**/*.test.ts',
      'test/**/*.ts',
    ],
    { cwd: root, exclude: ['**/node_modules/**', '**/*.proof.ts'] },
  ).filter((file) => !judges.includes(file))
  expect(files.length).toBeGreaterThan(300)
  const found = files.flatMap((file) => findClockJudges(file, readFileSync(join(root, file), 'utf8')))
  expect(found, 'use expectWithin, expectRatio or patienceFor (CONTRIBUTING, gate or proof)').toEqual([])
})

test.each([
  'const begun = performance.now(); await work(); expect(performance.now() - begun).toBeLessThan(2000)',
  'const begun = Date.now(); const took = Date.now() - begun; expect(took).toBeLessThanOrEqual(50)',
  'const took = async () => { const begun = Date.now(); await work(); return Date.now() - begun }\nexpect(await took()).toBeLessThan(9)',
  'expect(took(work)).toBeLessThan(9)\nfunction took(work) { const begun = process.hrtime(); work(); return process.hrtime() - begun }',
  'const before = process.cpuUsage().user; work(); const ms = (process.cpuUsage().user - before) / 1000; expect(ms).toBeLessThan(50)',
  'const begun = performance.now(); expect(100).toBeGreaterThan(performance.now() - begun)',
  'const begun = performance.now(); expect(performance.now() - begun < 100).toBe(true)',
  'const times = [1, 2].map(() => performance.now() - begun); expect(Math.max(...times)).toBeLessThan(250)',
  'const slowest = times.map((time) => Date.now() - time); expect(slowest.at(-1), "the slowest").not.toBeCloseTo(5)',
  'const times = []; const begun = Date.now(); times.push(Date.now() - begun); expect(Math.max(...times)).toBeLessThan(9)',
  'const slowest = { ms: 0 }; const begun = Date.now(); slowest.ms = Date.now() - begun; expect(slowest.ms).toBeLessThan(9)',
  'let took = 0; const begun = Date.now(); took = Date.now() - begun; expect(took).toBeLessThan(9)',
  'const { longestMs } = await longestTurn(work); expect(longestMs).toBeLessThan(50)',
  'const begun = Date.now(); expect(Date.now() - begun > 100).toBe(false)',
  'const begun = Date.now(); expect(Date.now() - begun).not.toBeGreaterThan(100)',
  'await expect.poll(() => isSo(), { timeout: 3000 }).toBe(true)',
  'await vi.waitFor(() => isSo(), { timeout: 500, interval: 10 })',
])('finds a planted one: %s', (text) => {
  expect(findClockJudges('planted.ts', text)).toHaveLength(1)
})

test.each([
  'const begun = performance.now(); await work(); expectWithin(performance.now() - begun, 2000)',
  'const begun = performance.now(); while (performance.now() - begun < 5000) await work()',
  'const begun = Date.now(); await work(); expect(Date.now() - begun).toBeGreaterThan(900)',
  'expect(answer.expiresAt).toBeLessThan(until)',
  'await until(() => isSo(), 2_000)',
  'await expect.poll(() => isSo()).toBe(true)',
  'expect(rows.length - before).toBeLessThan(5)',
])('leaves alone what judges none: %s', (text) => {
  expect(findClockJudges('planted.ts', text)).toEqual([])
})
