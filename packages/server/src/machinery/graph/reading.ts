import { anything, type Shape } from './flow.ts'
import type { AddIssue } from './issues.ts'
import { isRecord, type JsonRecord, joinPath, own } from './json.ts'
import type { PatternBudget } from './schema.ts'
import type { Entry, Step } from './step.ts'

/** What definitions can refer to in a workspace. Without them references are taken as they are. */
export interface References {
  findTool(toolId: string): { readonly inputSchema?: JsonRecord } | undefined
  hasAgent(slug: string): boolean
}

/** Where an entry stands: as a path for issues, as indexes for the run. */
export interface Place {
  readonly path: string
  readonly position: readonly number[]
}

/** A faulty step has no `step`, but still a shape that what follows can be judged by. */
export interface ReadStep {
  readonly step?: Step
  readonly output: Shape
}

export interface ReadEntry {
  readonly entry?: Entry
  readonly output: Shape
}

/**
 * One type of entry: reads the author's record, reports what is wrong with it, and makes the part that runs. `input`
 * is what is known of the value it will get; undefined when it may get none, so that nothing is certain.
 */
export type EntryType =
  | {
      /** A `step` may also stand in a container. */
      readonly kind: 'step' | 'mapping'
      read(raw: JsonRecord, place: Place, reading: Reading, input: Shape | undefined): ReadStep
    }
  | {
      readonly kind: 'container'
      read(raw: JsonRecord, place: Place, reading: Reading, input: Shape): ReadEntry
    }

/** What the entries of a definition share while they are read. */
export interface Reading {
  readonly add: AddIssue
  readonly workspaceId: string
  readonly references: References | undefined
  readonly inputs: Shape
  readonly patterns: PatternBudget
  /** Of a step of an earlier entry; undefined for any other name. */
  shapeOf(stepId: string): Shape | undefined
  /** Reads the id of a step, once per step. Undefined when it cannot be used. */
  claimId(raw: JsonRecord, place: Place): string | undefined
  /** Says what a step will put out. */
  describe(stepId: string, output: Shape): void
  readChild(raw: unknown, place: Place, input: Shape | undefined): ReadStep
}

const reserved = ['input', '__proto__', 'constructor', 'prototype']

/** `reveal` makes the steps that were read since the last time visible to what follows. */
export function createReading(
  shared: Omit<Reading, 'shapeOf' | 'claimId' | 'describe' | 'readChild'>,
  typeOf: (raw: JsonRecord, path: string, add: AddIssue) => EntryType | undefined,
): Reading & { rememberName(raw: JsonRecord): void; reveal(): void } {
  const { add } = shared
  const visible = new Map<string, Shape>()
  const claimed = new Map<string, Shape>()
  /** Of an entry that is refused as a whole, so that what refers to it is not refused too. */
  const rememberName = (raw: JsonRecord) => {
    const id = own(raw, 'id')
    if (typeof id === 'string' && !visible.has(id)) claimed.set(id, anything)
  }
  const reading: Reading = {
    ...shared,
    shapeOf: (stepId) => visible.get(stepId),
    describe: (stepId, output) => void claimed.set(stepId, output),
    claimId: (raw, place) => {
      const path = joinPath(place.path, 'id')
      const id = own(raw, 'id')
      if (id === undefined) return add('missing-step-id', path, 'Every step needs an id.')
      if (typeof id === 'string' && reserved.includes(id))
        return add('reserved-step-id', path, `"${id}" is reserved; choose another id.`)
      if (typeof id !== 'string' || !/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(id))
        return add(
          'invalid-step-id',
          path,
          'An id has 1 to 128 letters, digits, - and _, and starts with none of these two.',
        )
      if (visible.has(id) || claimed.has(id))
        return add('duplicate-step-id', path, `Another step is already called "${id}".`)
      claimed.set(id, anything)
      return id
    },
    readChild: (raw, place, input) => {
      const unknown = { output: anything }
      if (!isRecord(raw)) {
        add('wrong-type', place.path, 'A step is a record.')
        return unknown
      }
      const type = typeOf(raw, place.path, add)
      if (type?.kind === 'step') return type.read(raw, place, reading, input)
      rememberName(raw)
      if (type?.kind === 'mapping')
        add(
          'invalid-map-placement',
          place.path,
          'A mapping stands at the top of the graph only, never in a container.',
        )
      if (type?.kind === 'container')
        add('nested-container', place.path, 'A container holds single steps only.')
      return unknown
    },
  }
  return {
    ...reading,
    rememberName,
    reveal: () => {
      for (const [stepId, shape] of claimed) visible.set(stepId, shape)
      claimed.clear()
    },
  }
}

type FieldRule = 'text' | 'text?' | 'record?' | 'list' | 'any' | 'any?'

const fieldTypes: Record<string, [fits: (value: unknown) => boolean, expected: string]> = {
  text: [(value) => typeof value === 'string', 'a text'],
  record: [isRecord, 'a record'],
  list: [Array.isArray, 'a list'],
  any: [() => true, 'anything'],
}

/** Reports missing, mistyped and unknown keys; true if there are none. A key that is left out is absent, never null. */
export function checkFields(
  raw: JsonRecord,
  path: string,
  fields: Record<string, FieldRule>,
  add: AddIssue,
): boolean {
  let fine = true
  const refuse: AddIssue = (...issue) => {
    fine = false
    add(...issue)
  }
  for (const [name, rule] of Object.entries(fields)) {
    const at = joinPath(path, name)
    const value = own(raw, name)
    const type = fieldTypes[rule.replace('?', '')]
    if (value === undefined) {
      if (!rule.endsWith('?')) refuse('missing-field', at, `${name} is missing.`)
    } else if (type && !type[0](value)) refuse('wrong-type', at, `${name} must be ${type[1]}.`)
  }
  const known = `Unknown; known are ${Object.keys(fields).join(', ')}.`
  for (const name of Object.keys(raw))
    if (!Object.hasOwn(fields, name)) refuse('unknown-field', joinPath(path, name), known)
  return fine
}

/** How a message names the step it is about. */
export function about(stepId: string | undefined): string {
  return stepId ? `Step "${stepId}": ` : ''
}
