import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { Step } from './plan.ts'
import { type Results, readResults } from './results.ts'

export interface Ended extends Results {
  readonly step: Step
  readonly label: string
  readonly code: number | null
  readonly ms: number
  readonly log: string
}

/** What is under way, to be ended as a whole: each step is a process group of its own. */
export const underWay = new Map<number, string>()

/** Runs a step in the gate's own temporary folder; its words go to a log beside its report. */
export function runStep(
  step: Step,
  folder: string,
  label: string,
  files: readonly string[] = [],
): Promise<Ended> {
  const log = join(folder, `${label}.log`)
  const report = join(folder, `${label}.jsonl`)
  const out = openSync(log, 'a')
  const from = performance.now()
  const child = spawn(step.command, [...step.args, ...files], {
    detached: true,
    stdio: ['ignore', out, out],
    env: { ...process.env, TMPDIR: folder, GATE_REPORT: report, NO_COLOR: '1' },
  })
  closeSync(out)
  const { pid } = child
  if (pid !== undefined) underWay.set(pid, label)
  return new Promise((resolve) => {
    const end = (code: number | null) => {
      if (pid !== undefined) underWay.delete(pid)
      resolve({ step, label, code, ms: performance.now() - from, log, ...readResults(report) })
    }
    child.once('error', () => end(null))
    child.once('close', end)
  })
}

export function endAll(signal: NodeJS.Signals): void {
  for (const pid of underWay.keys()) {
    try {
      process.kill(-pid, signal)
    } catch {
      // The group has ended meanwhile.
    }
  }
}
