import { chmodSync, mkdtempSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { machineSince, processesOf, readTicks } from './machine.ts'
import type { Plan } from './plan.ts'
import { type Ended, endAll, runStep, underWay } from './run-step.ts'

export interface GateOptions {
  readonly plan: Plan
  readonly deadlineMs: number
  /** How many files may need a second chance. More than that is no bad luck. */
  readonly mostSecondChances: number
  readonly say: (line: string) => void
}

/** Runs a plan and says how it went. Whether the change may land. */
export async function runGate({ plan, deadlineMs, mostSecondChances, say }: GateOptions): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'gate-'))
  chmodSync(folder, 0o755) // PostgreSQL's user must reach what is in it.
  const begun = performance.now()
  const ticks = readTicks()
  const clock = () => minutes(performance.now() - begun)
  const done: Ended[] = []
  const reasons: string[] = []
  let isLate = false

  const deadline = setTimeout(async () => {
    isLate = true
    say(`${clock()}  the deadline: ending ${[...underWay.values()].join(', ')}`)
    endAll('SIGTERM')
    await pause(10_000)
    endAll('SIGKILL')
  }, deadlineMs)
  const beat = setInterval(() => say(`${clock()}  under way: ${[...underWay.values()].join(', ')}`), 120_000)

  const run = async (...[step, label, files]: [Ended['step'], string, string[]?]) => {
    const before = readTicks()
    const ended = await runStep(step, folder, label, files)
    say(`${clock()}  ${label}: ${tell(ended)} (${machineSince(before)})`)
    return ended
  }

  for (const lanes of plan) {
    await Promise.all(
      lanes.map(async (steps) => {
        for (const step of steps) {
          if (isLate) reasons.push(`not run: all of ${step.name}`)
          else done.push(await run(step, step.name))
        }
      }),
    )
  }

  const failed = done.flatMap(({ step, files }) =>
    files.filter(({ ok }) => !ok).map((result) => ({ step, ...result })),
  )
  for (const { step, code, log, files, cutOff, notRun, unhandled } of done) {
    for (const why of unhandled)
      reasons.push(`${step.name}: an error that belongs to no test\n${indent(why)}`)
    for (const file of cutOff) reasons.push(`cut off: ${file}`)
    for (const file of notRun) reasons.push(`not run: ${file}`)
    if (code !== 0 && !step.reports) reasons.push(`${step.name} failed:\n${indent(tailOf(log))}`)
    else if (code !== 0 && files.every(({ ok }) => ok) && unhandled.length === 0)
      reasons.push(`${step.name} ended with ${code} and names no file:\n${indent(tailOf(log))}`)
  }
  for (const { file, failures } of failed)
    for (const { test, why } of failures) say(`failed once: ${file} > ${test}\n${indent(why)}`)

  let savedTests = 0
  if (failed.length > mostSecondChances) {
    reasons.push(`${failed.length} files failed, more than ${mostSecondChances}: no second chance`)
    for (const { file } of failed) reasons.push(`failed: ${file}`)
  } else
    for (const [index, { step, file, failures }] of failed.entries()) {
      const again = isLate ? undefined : await run(step, `again-${index + 1}`, [file])
      if (again?.code === 0 && again.files.length > 0) {
        savedTests += failures.length
        say(`second chance: ${file} passed alone; had failed: ${failures.map(({ test }) => test).join('; ')}`)
      } else {
        reasons.push(`failed twice: ${file}`)
        for (const { test, why } of again?.files.flatMap((result) => result.failures) ?? [])
          reasons.push(`  ${test}\n${indent(why)}`)
      }
    }
  clearTimeout(deadline)
  clearInterval(beat)
  if (isLate) reasons.push(`the deadline of ${minutes(deadlineMs)} was reached`)

  const left = processesOf(folder)
  for (const { pid, words } of left) {
    reasons.push(`left alive: ${pid} ${words}`)
    process.kill(pid, 'SIGKILL')
  }

  const files = done.flatMap((ended) => ended.files)
  for (const { ms, file } of files.toSorted((a, b) => b.ms - a.ms).slice(0, 20))
    say(`slow  ${(ms / 1000).toFixed(1).padStart(6)} s  ${file}`)
  const passed = files.reduce((sum, file) => sum + file.passed, 0) + savedTests
  if (passed === 0) reasons.push('no test was run')
  for (const reason of reasons) say(`RED  ${reason}`)
  say(`${clock()} min, ${machineSince(ticks)}`)
  if (reasons.length > 0) say(`logs in ${folder}`)
  else await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  say(`${passed} passed, ${reasons.length} failed`)
  return reasons.length === 0
}

function tell({ step, code, ms, files }: Ended): string {
  const outcome = `${code === 0 ? 'green' : 'RED'} in ${minutes(ms)}`
  if (!step.reports) return outcome
  const red = files.filter(({ ok }) => !ok).map(({ file }) => file)
  const passed = files.reduce((sum, file) => sum + file.passed, 0)
  return `${outcome}, ${files.length} files, ${passed} tests passed${red.length > 0 ? `; failed: ${red.join(', ')}` : ''}`
}

function minutes(ms: number): string {
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

const indent = (text: string) => text.replaceAll(/^/gm, '    ')

function tailOf(log: string): string {
  return readFileSync(log, 'utf8').trimEnd().split('\n').slice(-60).join('\n')
}
