import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'

/**
 * Adds up the reports of several test runs: what took longest, what failed and why, then one line that says how it went.
 * `again` holds the reports of files that were run a second time: what passed there is named and does not count as failed.
 * `--files` names the files with a failure instead, one a line.
 */
const { values, positionals } = parseArgs({
  options: { files: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const [folder, again] = positionals
if (!folder)
  throw new Error('usage: node scripts/count-tests.ts [--files] FOLDER-OF-REPORTS [FOLDER-OF-SECOND-REPORTS]')

interface Report {
  readonly numPassedTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message: string
    readonly startTime: number
    readonly endTime: number
    readonly assertionResults: readonly {
      readonly status: string
      readonly fullName: string
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

type File = Report['testResults'][number]

interface Failure {
  readonly file: string
  readonly name: string
  readonly why: string
}

const reports = readReports(folder)
const files = reports.flatMap(({ testResults }) => testResults)
const failures = files.flatMap(failuresOf)
if (values.files) {
  for (const file of new Set(failures.map((failure) => failure.file))) console.log(file)
} else {
  tellSlowest()
  const { unstable, lasting } = sortOut(again === undefined ? [] : readReports(again))
  // Here once more, because whoever looks at a long log looks at its end.
  for (const failure of unstable) tell('UNSTABLE, passed when it was run again:', failure)
  for (const failure of lasting) tell('FAILED', failure)
  const passed = reports.reduce((sum, report) => sum + report.numPassedTests, 0) + unstable.length
  if (unstable.length > 0) console.log(`${unstable.length} unstable: find out why before the next change`)
  console.log(`${passed} passed, ${lasting.length} failed`)
  if (lasting.length > 0 || reports.length === 0) process.exitCode = 1
}

function readReports(from: string): Report[] {
  return readdirSync(from).map((name) => JSON.parse(readFileSync(join(from, name), 'utf8')) as Report)
}

function failuresOf({ name, status, message, assertionResults }: File): Failure[] {
  const file = relative(process.cwd(), name)
  const failed = assertionResults
    .filter((test) => test.status === 'failed')
    .map((test) => ({ file, name: `${file} > ${test.fullName}`, why: test.failureMessages.join('\n') }))
  // A file that does not even load has no failed test of its own but must not go unnoticed.
  return status === 'failed' && failed.length === 0 ? [{ file, name: file, why: message }] : failed
}

/** Unstable is what failed once and whose file was then run again without any failure. */
function sortOut(second: readonly Report[]): { unstable: Failure[]; lasting: Failure[] } {
  const filesOfSecond = second.flatMap(({ testResults }) => testResults)
  const sound = new Set(
    filesOfSecond
      .filter((file) => file.status === 'passed' && failuresOf(file).length === 0)
      .map(({ name }) => relative(process.cwd(), name)),
  )
  return {
    unstable: failures.filter(({ file }) => sound.has(file)),
    lasting: failures.filter(({ file }) => !sound.has(file)),
  }
}

function tellSlowest(): void {
  const secondsOf = ({ startTime, endTime }: File) => Math.round((endTime - startTime) / 1000)
  const slowest = files.toSorted((a, b) => secondsOf(b) - secondsOf(a)).slice(0, 25)
  console.log(`the slowest ${slowest.length} of ${files.length} files:`)
  for (const file of slowest) {
    console.log(`${String(secondsOf(file)).padStart(5)} s  ${relative(process.cwd(), file.name)}`)
  }
}

function tell(how: string, { name, why }: Failure): void {
  console.log(`${how} ${name}\n${why.replaceAll(/^/gm, '    ')}\n`)
}
