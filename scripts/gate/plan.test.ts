import { globSync, readFileSync } from 'node:fs'
import { basename, join, matchesGlob } from 'node:path'
import { expect, test } from 'vitest'
import config from '../../vitest.config.ts'
import { budgets } from './budgets.ts'
import { invariants } from './failures.ts'
import { plan } from './plan.ts'

const root = join(import.meta.dirname, '../..')
const projects = (config.test?.projects ?? []).map((project) => (project as { test: Project }).test)

interface Project {
  readonly name: string
  readonly include: readonly string[]
  readonly testTimeout?: number
  readonly hookTimeout?: number
}

test('every project is a step, and every test is in a project', () => {
  const steps = plan.flat(2).flatMap(({ name, reports }) => (reports ? [name] : []))
  expect(steps.toSorted()).toEqual(projects.map(({ name }) => name).toSorted())
  const tests = globSync('{bench,packages,scripts,stack,test}/**/*.test.{ts,tsx}', {
    cwd: root,
    exclude: ['**/node_modules/**'],
  })
  const includes = projects.flatMap(({ include }) => include)
  expect(tests.length).toBeGreaterThan(390)
  expect(tests.filter((file) => !includes.some((pattern) => matchesGlob(file, pattern)))).toEqual([])
})

test('every list of invariants names a file that there is', () => {
  for (const pattern of invariants) expect(globSync(pattern, { cwd: root }), pattern).not.toEqual([])
  const named = invariants.flatMap((pattern) => /\{([^}*]*)\}\.test/.exec(pattern)?.[1]?.split(',') ?? [])
  const files = globSync('{packages,test}/**/*.test.ts', { cwd: root, exclude: ['**/node_modules/**'] })
  const names = new Set(files.map((file) => basename(file, '.test.ts')))
  expect(named.filter((name) => !names.has(name))).toEqual([])
})

const dodges = [
  /\.(skip|todo|fails|only)\b(?!\w)/,
  /\b(skip|only|fails): true\b/,
  /\b(retry|repeats): \d/,
  /biome-ignore .*no(Skipped|Focused)Tests/,
]

test('no test is left out but by what only a proof runs', () => {
  const files = globSync('{bench,packages,scripts,stack,test}/**/*.{test,proof}.ts', {
    cwd: root,
    exclude: ['**/node_modules/**'],
  }).filter((file) => !file.startsWith('scripts/gate/'))
  expect(files.length).toBeGreaterThan(390)
  for (const file of files) {
    const text = readFileSync(join(root, file), 'utf8')
    const calls = text.match(/\b(test|it|describe)\b[.\w]*(\.\w+)*\(?.*/g) ?? []
    for (const call of calls) {
      expect(dodges.filter((dodge) => dodge.test(call)).length, `${file}: ${call}`).toBe(0)
      if (/\.(skipIf|runIf)\(/.test(call))
        expect(call, file).toMatch(/\.(runIf\(isProof\)|skipIf\(!isProof )/)
    }
  }
})

test('nothing may be silent for as long as what is taken to be hung', () => {
  const limits = projects.flatMap(({ testTimeout = 0, hookTimeout = 0 }) => [testTimeout, hookTimeout])
  expect(Math.max(...limits)).toBeLessThan(budgets.silentMs)
})
