import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, TestModule, TestSpecification } from 'vitest/node'
import { budgets } from './budgets.ts'
import { isOfPatience } from './failures.ts'
import type { Failure, Line } from './results.ts'

interface Thrown {
  readonly message: string
  readonly stack?: string | undefined
  readonly cause?: unknown
}

/** Tells the gate what became of each file as soon as it ended, so that a run that is cut off has told what it did. */
export default class GateReporter implements Reporter {
  onTestRunStart(specifications: readonly TestSpecification[]): void {
    say({ kind: 'planned', files: specifications.map(({ moduleId }) => nameOf(moduleId)) })
  }

  onTestModuleStart(module: TestModule): void {
    say({ kind: 'begun', file: nameOf(module.moduleId) })
  }

  onTestModuleEnd(module: TestModule): void {
    const tests = [...module.children.allTests()]
    const failures = tests
      .filter((test) => test.result().state === 'failed')
      .map((test) => failureOf(test.fullName, test.result().errors ?? []))
    const ofFile = [
      ...module.errors(),
      ...[...module.children.allSuites()].flatMap((suite) => suite.errors()),
    ]
    if (ofFile.length > 0) failures.push(failureOf('(the file itself)', ofFile))
    const { collectDuration, setupDuration, duration } = module.diagnostic()
    say({
      kind: 'ended',
      file: nameOf(module.moduleId),
      ms: collectDuration + setupDuration + duration,
      passed: tests.filter((test) => test.result().state === 'passed').length,
      ok: module.ok(),
      failures,
      slowTests: tests
        .map((test) => ({ test: test.fullName, ms: test.diagnostic()?.duration ?? 0 }))
        .filter(({ ms }) => ms > budgets.testMs),
    })
  }

  onTestRunEnd(_modules: readonly TestModule[], unhandled: readonly Thrown[]): void {
    if (unhandled.length > 0) say({ kind: 'unhandled', why: wordsOf(unhandled) })
  }
}

function say(line: Line): void {
  const file = process.env['GATE_REPORT']
  if (file === undefined) throw new Error('GATE_REPORT does not say where to report to')
  appendFileSync(file, `${JSON.stringify(line)}\n`)
}

const nameOf = (moduleId: string) => relative(process.cwd(), moduleId)

function failureOf(test: string, errors: readonly Thrown[]): Failure {
  return { test, why: wordsOf(errors), isLate: errors.length > 0 && errors.every(isOfPatience) }
}

function wordsOf(errors: readonly Thrown[]): string {
  return errors.map(({ message, stack }) => stack ?? message).join('\n')
}
