import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** Adds up the reports of several test runs: what failed and why, then one line that says how it went. */
const folder = process.argv[2]
if (!folder) throw new Error('usage: node scripts/count-tests.ts FOLDER-OF-REPORTS')

interface Report {
  readonly numPassedTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message: string
    readonly assertionResults: readonly {
      readonly status: string
      readonly fullName: string
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

const reports = readdirSync(folder).map(
  (name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Report,
)
const failures = reports
  .flatMap(({ testResults }) => testResults)
  .flatMap(({ name, status, message, assertionResults }) => {
    const failed = assertionResults
      .filter((test) => test.status === 'failed')
      .map((test) => ({ name: `${name} > ${test.fullName}`, why: test.failureMessages.join('\n') }))
    // A file that does not even load has no failed test of its own but must not go unnoticed.
    return status === 'failed' && failed.length === 0 ? [{ name, why: message }] : failed
  })
// Here once more, because whoever looks at a long log looks at its end.
for (const { name, why } of failures) {
  console.log(`FAILED ${relative(process.cwd(), name)}\n${why.replaceAll(/^/gm, '    ')}\n`)
}
const passed = reports.reduce((sum, report) => sum + report.numPassedTests, 0)
console.log(`${passed} passed, ${failures.length} failed`)
if (failures.length > 0 || reports.length === 0) process.exitCode = 1
