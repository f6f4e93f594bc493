import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { budgets } from './gate/budgets.ts'
import { looksAtInvariants } from './gate/failures.ts'
import { runGate } from './gate/gate.ts'
import { plan } from './gate/plan.ts'

/**
 * What every change must pass: `npm run gate`, or only some of its steps with `-- --only server,unit`. Ends by itself at
 * its deadline, with a reason.
 */
const { values } = parseArgs({
  options: { only: { type: 'string' }, deadline: { type: 'string', default: '55' } },
})
const names = plan.flat(2).map(({ name }) => name)
const wanted = values.only?.split(',') ?? names
const unknown = wanted.filter((name) => !names.includes(name))
if (unknown.length > 0) fail(`There is no step ${unknown.join(', ')}; there are ${names.join(', ')}.`)
const deadlineMs = Number(values.deadline) * 60_000
if (!(deadlineMs > 0)) fail('--deadline is a number of minutes.')
// Without them some tests would not be there, and nobody would miss them.
for (const [step, folder, script] of [
  ['peers', 'bench/peers', 'peers'],
  ['sdk', 'test/runtimes', 'runtimes'],
] as const)
  if (wanted.includes(step) && !existsSync(`${folder}/node_modules`))
    fail(`${step} needs what "npm run ${script}" installs.`)

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'safe.directory=*', ...args], { encoding: 'utf8' })
    .trim()
    .split('\n')
const testFile = /\.(test|spec)\.[cm]?[jt]sx?$/
/** What ships as an example is run by nobody here. */
const example = /^catalog\/[^/]+\/assets\//
const everyTest = git('ls-files', '--cached', '--others', '--exclude-standard').filter(
  (file) => testFile.test(file) && !example.test(file) && existsSync(file),
)
const changes = () => (git('status', '--porcelain').join('') === '' ? '' : ' with changes')
const judged = () =>
  `${git('rev-parse', '--short', 'HEAD')}${changes()}, ${values.only ? `only ${values.only}` : 'all steps'}`
console.log(`judging ${judged()}`)
// Whatever was bundled before, these are the sources now.
const bundles = process.env['GUILDHALL_BUNDLES']
if (bundles) execFileSync('node', ['scripts/bundle.ts', bundles], { stdio: 'inherit' })

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupted.abort())
const passed = await runGate({
  plan: plan.map((lanes) => lanes.map((steps) => steps.filter(({ name }) => wanted.includes(name)))),
  deadlineMs,
  subject: judged,
  expected: values.only === undefined ? everyTest : [],
  interrupted: interrupted.signal,
  mostSecondChances: 5,
  looksAtInvariants,
  budgets,
  say: (line) => console.log(line),
})
process.exitCode = passed ? 0 : 1

function fail(message: string): never {
  console.error(message)
  process.exit(2)
}
