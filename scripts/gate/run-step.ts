import { spawn } from 'node:child_process'
import { appendFileSync, closeSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { childrenCpuSeconds, machineSince, readTicks } from './machine.ts'
import type { Step } from './plan.ts'
import { type Results, readResults } from './results.ts'

export interface Ended extends Results {
  readonly step: Step
  readonly label: string
  readonly code: number | null
  /** It was ended because nothing of it had been heard for too long. */
  readonly isHung: boolean
  readonly ms: number
  /** What it took itself, with all that it started and waited for. */
  readonly cpuSeconds: number
  readonly machine: string
  readonly log: string
}

/** The steps of one gate. Each is a process group, so that what is under way can be ended as a whole. */
export class Steps {
  readonly #folder: string
  readonly #silentMs: number
  readonly #underWay = new Map<number, string>()
  /** Up to the step that ended last. */
  #cpuSeconds = childrenCpuSeconds()

  constructor(folder: string, silentMs: number) {
    this.#folder = folder
    this.#silentMs = silentMs
  }

  get underWay(): string {
    return [...this.#underWay.values()].join(', ')
  }

  /** Runs a step in the gate's own temporary folder; its words go to a log beside its report. */
  run(step: Step, label: string, files: readonly string[] = []): Promise<Ended> {
    const log = join(this.#folder, `${label}.log`)
    const report = join(this.#folder, `${label}.jsonl`)
    const out = openSync(log, 'a')
    const from = performance.now()
    const ticks = readTicks()
    const child = spawn(step.command, [...step.args, ...files], {
      detached: true,
      stdio: ['ignore', out, out],
      env: { ...withoutSwitches(process.env), TMPDIR: this.#folder, GATE_REPORT: report, NO_COLOR: '1' },
    })
    closeSync(out)
    const { pid } = child
    if (pid !== undefined) this.#underWay.set(pid, label)
    let isHung = false
    const lookEveryMs = Math.min(10_000, this.#silentMs / 4)
    // Counted in looks: while the gate itself stands still, nobody is silent.
    let [silentMs, heardAt] = [0, 0]
    const watch = setInterval(() => {
      const changed = changedAt(step.reports ? report : log)
      silentMs = changed === heardAt ? silentMs + lookEveryMs : 0
      heardAt = changed
      if (silentMs < this.#silentMs) return
      if (pid !== undefined) endGroup(pid, isHung ? 'SIGKILL' : 'SIGTERM')
      isHung = true
    }, lookEveryMs)
    return new Promise((resolve) => {
      const end = (code: number | null) => {
        clearInterval(watch)
        if (pid !== undefined) this.#underWay.delete(pid)
        const ms = performance.now() - from
        const cpuSeconds = childrenCpuSeconds() - this.#cpuSeconds
        this.#cpuSeconds += cpuSeconds
        const machine = machineSince(ticks)
        resolve({ step, label, code, isHung, ms, cpuSeconds, machine, log, ...readResults(report) })
      }
      child.once('error', (error) => {
        appendFileSync(log, `${error.message}\n`)
        end(null)
      })
      child.once('exit', (code) => {
        // Workers of one that could not end them.
        if (pid !== undefined && code === null) endGroup(pid, 'SIGKILL')
        end(code)
      })
    })
  }

  end(signal: NodeJS.Signals): void {
    for (const pid of this.#underWay.keys()) endGroup(pid, signal)
  }
}

/** What somebody's shell may hold that would have the tests look at something else, or at more. */
const switches = /^(PROOF|PROOF_SEEN|CONFORMANCE_BASE_URL|MODELS|PLANTED|VITEST.*)$/

function withoutSwitches(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !switches.test(name)))
}

function endGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // The group has ended meanwhile.
  }
}

function changedAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
