import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'
import { afterAll, afterEach, beforeEach, expect } from 'vitest'
import type { Line } from './results.ts'

/**
 * Runs in the worker before each file and tells the gate what only its process can say: which test is under way (one
 * that never gives the thread back says nothing to vitest any more), and what the file cost.
 */
const report = process.env['GATE_REPORT']
if (report !== undefined) {
  const say = (line: Line) => appendFileSync(report, `${JSON.stringify(line)}\n`)
  const here = () => relative(process.cwd(), expect.getState().testPath ?? '')
  const before = process.cpuUsage()
  beforeEach(({ task }) => say({ kind: 'testing', file: here(), test: task.fullTestName }))
  afterEach(({ task }) => say({ kind: 'tested', file: here(), test: task.fullTestName }))
  afterAll(() => {
    const { user, system } = process.cpuUsage(before)
    say({ kind: 'cpu', file: here(), cpuMs: (user + system) / 1000 })
  })
}
