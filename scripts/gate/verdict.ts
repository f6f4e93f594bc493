import { readFileSync } from 'node:fs'
import type { FileResult } from './results.ts'
import type { Ended } from './run-step.ts'

export interface Failed extends FileResult {
  readonly step: Ended['step']
  readonly machine: string
}

interface Rules {
  /** How many files may need a second chance. More than that is no bad luck. */
  readonly mostSecondChances: number
  readonly fileCpuMs: number
  /** Of which files a wrong value is red at once. */
  readonly looksAtInvariants: (file: string) => boolean
}

export interface Verdict {
  readonly reasons: readonly string[]
  /** To be run once more, alone. */
  readonly again: readonly Failed[]
}

/** What is red already, and what may be tried again. */
export function judge(done: readonly Ended[], rules: Rules): Verdict {
  const reasons = done.flatMap(faultsOfStep)
  for (const { file, cpuMs } of done.flatMap(({ files }) => files))
    if (cpuMs > rules.fileCpuMs)
      reasons.push(
        `too dear: ${file} took ${seconds(cpuMs)} s of CPU, at most ${seconds(rules.fileCpuMs)} are allowed`,
      )

  const failed: Failed[] = done.flatMap(({ step, machine, files }) =>
    files.filter(({ ok }) => !ok).map((file) => ({ ...file, step, machine })),
  )
  if (failed.length > rules.mostSecondChances) {
    reasons.push(`${failed.length} files failed, more than ${rules.mostSecondChances}: no second chance`)
    return { reasons: [...reasons, ...failed.map(({ file }) => `failed: ${file}`)], again: [] }
  }
  const isFinal = ({ file, failures }: Failed) =>
    rules.looksAtInvariants(file) && failures.some(({ isLate }) => !isLate)
  for (const { file, failures } of failed.filter(isFinal))
    for (const { test } of failures.filter(({ isLate }) => !isLate))
      reasons.push(`an invariant, so no second chance: ${file} > ${test}`)
  return { reasons, again: failed.filter((one) => !isFinal(one)) }
}

function faultsOfStep(ended: Ended): string[] {
  const { step, code, isHung, log, files, cutOff, notRun, unhandled } = ended
  const namesNothing = files.every(({ ok }) => ok) && unhandled.length === 0 && cutOff.length === 0
  return [
    ...unhandled.map((why) => `${step.name}: an error that belongs to no test\n${indent(why)}`),
    ...cutOff.map((what) => `${isHung ? 'hung, and ended' : 'cut off'}: ${what}`),
    ...notRun.map((file) => `not run: ${file}`),
    ...(code !== 0 && !step.reports ? [`${step.name} failed:\n${indent(tailOf(log))}`] : []),
    // What goes wrong when the servers of a project are stopped comes after its tests.
    ...(step.reports && tailOf(log).includes('error during close')
      ? [`${step.name} did not end in order:\n${indent(tailOf(log))}`]
      : []),
    ...(code !== 0 && step.reports && namesNothing
      ? [`${step.name} ended with ${code} and names no file:\n${indent(tailOf(log))}`]
      : []),
  ]
}

const seconds = (ms: number) => (ms / 1000).toFixed(0)

export const indent = (text: string) => text.replaceAll(/^/gm, '    ')

function tailOf(log: string): string {
  return readFileSync(log, 'utf8').trimEnd().split('\n').slice(-60).join('\n')
}
