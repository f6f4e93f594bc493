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
  const finalOf = ({ file, failures }: Failed) =>
    failures.filter(({ isLate, isFinal }) => isFinal || (!isLate && rules.looksAtInvariants(file)))
  for (const one of failed)
    for (const { test, isFinal, why } of finalOf(one))
      reasons.push(
        isFinal
          ? `no second chance: ${one.file} > ${test}\n${indent(why)}`
          : `an invariant, so no second chance: ${one.file} > ${test}`,
      )
  return { reasons, again: failed.filter((one) => finalOf(one).length === 0) }
}

function faultsOfStep(ended: Ended): string[] {
  const { step, code, isHung, log, files, cutOff, notRun, unhandled, isWhole } = ended
  // Ended by a signal, or by what vitest does not call a failed test.
  const isCutShort = isHung || (code !== 0 && code !== 1)
  const namesNothing = files.every(({ ok }) => ok) && unhandled.length === 0 && cutOff.length === 0
  return [
    ...unhandled.map((why) => `${step.name}: an error that belongs to no test\n${indent(why)}`),
    ...cutOff.map((what) => `${isHung ? 'hung, and ended' : 'cut off'}: ${what}`),
    ...notRun.map((file) => `not run: ${file}`),
    ...files
      .filter(({ ok, passed }) => ok && passed.length === 0)
      .map(({ file }) => `no test of it was run: ${file}`),
    ...(code !== 0 && !step.reports ? [`${step.name} failed:\n${indent(tailOf(log))}`] : []),
    // What goes wrong when the servers of a project are stopped comes after its tests.
    ...(step.reports && readFileSync(log, 'utf8').includes('error during close')
      ? [`${step.name} did not end in order:\n${indent(tailOf(log))}`]
      : []),
    ...(step.reports && isCutShort ? [`${step.name} did not end by itself:\n${indent(tailOf(log))}`] : []),
    ...(step.reports && !isCutShort && !isWhole
      ? [`${step.name} has not told all that it did:\n${indent(tailOf(log))}`]
      : []),
    ...(step.reports && files.length === 0 ? [`${step.name} has run no file`] : []),
    ...(code === 1 && step.reports && namesNothing
      ? [`${step.name} ended with ${code} and names no file:\n${indent(tailOf(log))}`]
      : []),
  ]
}

const seconds = (ms: number) => (ms / 1000).toFixed(0)

export const indent = (text: string) => text.replaceAll(/^/gm, '    ')

function tailOf(log: string): string {
  return readFileSync(log, 'utf8').trimEnd().split('\n').slice(-60).join('\n')
}
