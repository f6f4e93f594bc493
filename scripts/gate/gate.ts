import { chmodSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { budgets } from './budgets.ts'
import { endProcess, type Living, machineSince, processesOf, readTicks } from './machine.ts'
import type { Plan } from './plan.ts'
import { theFile } from './results.ts'
import { type Ended, Steps } from './run-step.ts'
import { type Failed, indent, judge } from './verdict.ts'

export interface GateOptions {
  readonly plan: Plan
  readonly deadlineMs: number
  readonly mostSecondChances: number
  readonly looksAtInvariants: (file: string) => boolean
  readonly budgets: typeof budgets
  readonly say: (line: string) => void
  /** What is judged, in words. */
  readonly subject: () => string
  /** Every test file that there is. One that no step has run is missed by nobody else. */
  readonly expected: readonly string[]
  /** Somebody wants it to end now. */
  readonly interrupted?: AbortSignal
}

/** Runs a plan and says how it went. Whether the change may land. */
export async function runGate(options: GateOptions): Promise<boolean> {
  const { plan, deadlineMs, budgets, say } = options
  const folder = mkdtempSync(join(tmpdir(), 'gate-'))
  chmodSync(folder, 0o755) // PostgreSQL's user must reach what is in it.
  const begun = performance.now()
  const ticks = readTicks()
  const clock = () => minutes(performance.now() - begun)
  const done: Ended[] = []
  const reasons: string[] = []
  const steps = new Steps(folder, budgets.silentMs)
  /** Why nothing more is begun. */
  let over: string | undefined
  let killing: NodeJS.Timeout | undefined

  const stop = (why: string) => {
    if (over !== undefined) return
    over = why
    say(`${clock()}  ${why}: ending ${steps.underWay}`)
    steps.end('SIGTERM')
    killing = setTimeout(() => steps.end('SIGKILL'), 10_000)
  }
  const deadline = setTimeout(() => stop(`the deadline of ${minutes(deadlineMs)} was reached`), deadlineMs)
  const interrupt = () => stop('interrupted')
  options.interrupted?.addEventListener('abort', interrupt)
  const beat = setInterval(() => say(`${clock()}  under way: ${steps.underWay}`), 120_000)

  const run = async (step: Ended['step'], label: string, files?: string[]) => {
    const ended = await steps.run(step, label, files)
    say(`${clock()}  ${label}: ${tell(ended)} (the machine meanwhile: ${ended.machine})`)
    return ended
  }
  /** Why it is red, if it is. */
  const runAgain = async ({ step, file, failures, machine }: Failed, label: string): Promise<string[]> => {
    if (over !== undefined) return [`failed, with no time to run it again: ${file}`]
    const again = await run(step, label, [file])
    if (again.code !== 0) {
      const whys = again.files.flatMap((result) => result.failures)
      return [
        [`failed twice: ${file}`, ...whys.map(({ test, why }) => `  ${test}\n${indent(why)}`)].join('\n'),
      ]
    }
    const passed = new Set(again.files.flatMap((result) => result.passed))
    const missing = failures.map(({ test }) => test).filter((test) => test !== theFile && !passed.has(test))
    if (passed.size === 0 || missing.length > 0)
      return [`failed, and was not run again: ${file}${missing.map((test) => ` > ${test}`).join(',')}`]
    say(`second chance: ${file} passed alone (${again.machine})`)
    say(`    had failed (${machine}): ${failures.map(({ test }) => test).join('; ')}`)
    return []
  }

  const runPlan = async () => {
    for (const lanes of plan) {
      await Promise.all(
        lanes.map(async (lane) => {
          for (const step of lane) {
            if (over !== undefined) reasons.push(`not run: all of ${step.name}`)
            else done.push(await run(step, step.name))
          }
        }),
      )
    }
  }
  // Nothing that was begun goes on without the gate.
  await runPlan().catch((error) => {
    steps.end('SIGKILL')
    reasons.push(`the gate itself failed: ${error.stack}`)
  })

  const files = done.flatMap((ended) => ended.files)
  const wasRun = new Set(files.map(({ file }) => file))
  for (const file of options.expected) if (!wasRun.has(file)) reasons.push(`no step has run it: ${file}`)
  for (const { file, failures } of files)
    for (const { test, why } of failures) say(`failed once: ${file} > ${test}\n${indent(why)}`)
  const verdict = judge(done, { ...options, fileCpuMs: budgets.fileCpuMs })
  reasons.push(...verdict.reasons)
  let savedTests = 0
  for (const [index, failed] of verdict.again.entries()) {
    const why = await runAgain(failed, `again-${index + 1}`)
    reasons.push(...why)
    if (why.length === 0) savedTests += failed.failures.length
  }
  for (const timer of [deadline, beat, killing]) clearTimeout(timer)
  options.interrupted?.removeEventListener('abort', interrupt)
  if (over !== undefined) reasons.push(over)

  for (const { pid, words } of await leftAlive(folder)) {
    reasons.push(`left alive: ${pid} ${words}`)
    endProcess(pid)
  }

  sayWhatWasSlow(files, budgets, say)
  const passed = files.reduce((sum, file) => sum + file.passed.length, 0) + savedTests
  if (passed === 0) reasons.push('no test was run')
  for (const reason of reasons) say(`RED  ${reason}`)
  say(`${clock()} min of ${minutes(budgets.gateMs)}, ${machineSince(ticks)}`)
  if (reasons.length > 0) say(`logs in ${folder}`)
  else await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  say(`of ${options.subject()}`)
  say(`${passed} passed, ${reasons.length} failed`)
  return reasons.length === 0
}

/** What was told to end a moment ago may still be at it. */
async function leftAlive(folder: string): Promise<Living[]> {
  let left = processesOf(folder)
  for (let looks = 0; left.length > 0 && looks < 6; looks++) {
    await pause(500)
    left = processesOf(folder)
  }
  return left
}

function sayWhatWasSlow(
  files: Ended['files'],
  { fileMs, testMs }: GateOptions['budgets'],
  say: GateOptions['say'],
): void {
  const over = files.filter(({ ms }) => ms > fileMs).length
  say(`${over} of ${files.length} files took over ${fileMs / 1000} s; the slowest:`)
  for (const { ms, cpuMs, file } of files.toSorted((a, b) => b.ms - a.ms).slice(0, 20))
    say(`slow  ${seconds(ms)} s, ${seconds(cpuMs)} of CPU in its process  ${file}`)
  const tests = files.flatMap(({ file, slowTests }) => slowTests.map((one) => ({ file, ...one })))
  say(`${tests.length} tests took over ${testMs / 1000} s; the slowest:`)
  for (const { ms, file, test } of tests.toSorted((a, b) => b.ms - a.ms).slice(0, 10))
    say(`slow  ${seconds(ms)} s  ${file} > ${test}`)
}

function tell({ step, code, isHung, ms, cpuSeconds, files }: Ended): string {
  const how = code === 0 ? 'green' : isHung ? 'HUNG' : 'RED'
  const outcome = `${how} in ${minutes(ms)} and ${cpuSeconds.toFixed(0)} s of CPU`
  if (!step.reports) return outcome
  const red = files.filter(({ ok }) => !ok).map(({ file }) => file)
  const passed = files.reduce((sum, file) => sum + file.passed.length, 0)
  return `${outcome}, ${files.length} files, ${passed} tests passed${red.length > 0 ? `; failed: ${red.join(', ')}` : ''}`
}

function minutes(ms: number): string {
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

const seconds = (ms: number) => (ms / 1000).toFixed(1).padStart(6)
