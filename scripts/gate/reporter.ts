import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, TestCase, TestModule, TestSpecification } from 'vitest/node'
import { budgets } from './budgets.ts'
import { isCounterexample, isOfPatience } from './failures.ts'
import { type Failure, type Line, theFile } from './results.ts'

interface Thrown {
  readonly message: string
  readonly stack?: string | undefined
  readonly cause?: unknown
}

/** Tells the gate what became of each file as soon as it ended, so that a run that is cut off has told what it did. */
export default class GateReporter implements Reporter {
  #files = 0
  #failed = 0

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    say({ kind: 'planned', files: specifications.map(({ moduleId }) => nameOf(moduleId)) })
  }

  onTestModuleStart(module: TestModule): void {
    say({ kind: 'begun', file: nameOf(module.moduleId) })
  }

  onTestModuleEnd(module: TestModule): void {
    const tests = [...module.children.allTests()]
    const ofFile = [
      ...module.errors(),
      ...[...module.children.allSuites()].flatMap((suite) => suite.errors()),
    ]
    const failures = tests.flatMap((test) => {
      const dodged = dodgeOf(test, ofFile.length > 0)
      if (dodged !== undefined) return [{ test: test.fullName, why: dodged, isLate: false, isFinal: true }]
      const { state, errors = [] } = test.result()
      return state === 'failed' ? [failureOf(test.fullName, errors)] : []
    })
    if (ofFile.length > 0) failures.push(failureOf(theFile, ofFile))
    const ok = module.ok() && failures.length === 0
    this.#files++
    if (!ok) this.#failed++
    const { collectDuration, setupDuration, duration } = module.diagnostic()
    say({
      kind: 'ended',
      file: nameOf(module.moduleId),
      ms: collectDuration + setupDuration + duration,
      passed: tests.filter((test) => test.result().state === 'passed').map(({ fullName }) => fullName),
      ok,
      failures,
      slowTests: tests
        .map((test) => ({ test: test.fullName, ms: test.diagnostic()?.duration ?? 0 }))
        .filter(({ ms }) => ms > budgets.testMs),
    })
  }

  onTestRunEnd(_modules: readonly TestModule[], unhandled: readonly Thrown[]): void {
    if (unhandled.length > 0) say({ kind: 'unhandled', why: wordsOf(unhandled) })
    say({ kind: 'over', files: this.#files, failed: this.#failed })
  }
}

/** How a test comes to be no test, if it does. What is left to proofs is skipped by name, and looked at in the sources. */
function dodgeOf(test: TestCase, hadNoStage: boolean): string | undefined {
  if (test.options.mode === 'todo') return 'it is only promised'
  if (test.options.fails) return 'it is expected to fail'
  // Where a hook before it failed, none of the tests is run.
  if (test.result().state === 'skipped' && test.options.mode === 'run' && !hadNoStage)
    return 'it left itself out'
  if ((test.diagnostic()?.retryCount ?? 0) > 0) return 'it was tried until it passed'
  return undefined
}

function say(line: Line): void {
  const file = process.env['GATE_REPORT']
  if (file === undefined) throw new Error('GATE_REPORT does not say where to report to')
  appendFileSync(file, `${JSON.stringify(line)}\n`)
}

const nameOf = (moduleId: string) => relative(process.cwd(), moduleId)

function failureOf(test: string, errors: readonly Thrown[]): Failure {
  const why = wordsOf(errors)
  const isLate = errors.length > 0 && errors.every(isOfPatience)
  return { test, why, isLate, isFinal: isCounterexample(why) }
}

function wordsOf(errors: readonly Thrown[]): string {
  return errors.map(({ message, stack }) => stack ?? message).join('\n')
}
