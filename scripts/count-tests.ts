import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Adds up the reports of several test runs and ends with one line that says how it went. */
const folder = process.argv[2]
if (!folder) throw new Error('usage: node scripts/count-tests.ts FOLDER-OF-REPORTS')

const reports = readdirSync(folder).map(
  (name) =>
    JSON.parse(readFileSync(join(folder, name), 'utf8')) as {
      numPassedTests: number
      numFailedTests: number
      numFailedTestSuites: number
    },
)
const passed = reports.reduce((sum, report) => sum + report.numPassedTests, 0)
// A file that does not even load has no failed test of its own but must not go unnoticed.
const failed = reports.reduce(
  (sum, report) => sum + Math.max(report.numFailedTests, report.numFailedTestSuites > 0 ? 1 : 0),
  0,
)
console.log(`${passed} passed, ${failed} failed`)
if (failed > 0 || reports.length === 0) process.exitCode = 1
