import { type Shape, someRecord } from './flow.ts'
import { type JsonRecord, joinPath, own } from './json.ts'
import { definitionLimits } from './limits.ts'
import type { Place, Reading, ReadStep } from './reading.ts'
import type { Step } from './step.ts'

export interface Children {
  /** Absent when any of them is faulty. */
  readonly steps?: readonly Step[]
  readonly outputs: readonly Shape[]
}

/** Reads the `steps` of a container, which all get the same input. */
export function readChildren(
  raw: JsonRecord,
  place: Place,
  reading: Reading,
  input: Shape | undefined,
): Children {
  const list = own(raw, 'steps')
  const path = joinPath(place.path, 'steps')
  if (!Array.isArray(list)) return { outputs: [] }
  if (list.length === 0) reading.add('empty-container', path, 'A container holds at least one step.')
  if (list.length > definitionLimits.children)
    reading.add('container-too-large', path, `A container holds at most ${definitionLimits.children} steps.`)
  if (list.length === 0 || list.length > definitionLimits.children) return { outputs: [] }
  const read = list.map((child, index) =>
    reading.readChild(child, { path: joinPath(path, index), position: [...place.position, index] }, input),
  )
  const steps = read.map(({ step }) => step).filter((step) => step !== undefined)
  return { ...(steps.length === list.length && { steps }), outputs: read.map(({ output }) => output) }
}

/** Reads the one `step` of a container. */
export function readBody(
  raw: JsonRecord,
  place: Place,
  reading: Reading,
  input: Shape | undefined,
): ReadStep {
  const body = own(raw, 'step')
  if (body === undefined) return { output: someRecord }
  return reading.readChild(body, { path: joinPath(place.path, 'step'), position: place.position }, input)
}

/** A record of outputs by the ids of their steps, in declared order. */
export function keyedById(steps: readonly Step[], outputs: readonly unknown[]): JsonRecord {
  return Object.fromEntries(steps.map(({ stepId }, index) => [stepId, outputs[index]]))
}
