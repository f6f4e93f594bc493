import { globSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { expect, test } from 'vitest'
import config from '../../vitest.config.ts'
import { budgets } from './budgets.ts'
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

test('nothing may be silent for as long as what is taken to be hung', () => {
  const limits = projects.flatMap(({ testTimeout = 0, hookTimeout = 0 }) => [testTimeout, hookTimeout])
  expect(Math.max(...limits)).toBeLessThan(budgets.silentMs)
})
