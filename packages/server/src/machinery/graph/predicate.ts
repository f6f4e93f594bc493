import type { AddIssue } from './issues.ts'
import { isRecord, type JsonRecord, joinPath, own } from './json.ts'
import { definitionLimits } from './limits.ts'
import { parseReference, type Reference, resolveReference, type Scope } from './reference.ts'

type Scalar = string | number | boolean | null
type Operand = { readonly reference: Reference } | { readonly literal: Scalar }

export type Condition =
  | { readonly op: 'compare'; readonly holds: Comparison; readonly left: Operand; readonly right: Operand }
  | { readonly op: 'in' | 'notIn'; readonly value: Operand; readonly set: ReadonlySet<Scalar> }
  | { readonly op: 'exists' | 'notExists'; readonly reference: Reference }
  | { readonly op: 'truthy' | 'falsy'; readonly value: Operand }
  | { readonly op: 'and' | 'or'; readonly args: readonly Condition[] }
  | { readonly op: 'not'; readonly arg: Condition }

type Comparison = (a: unknown, b: unknown) => boolean

/** Numbers with numbers, texts with texts by code units; anything else has no order. */
const ordered =
  (holds: (a: number | string, b: number | string) => boolean): Comparison =>
  (a, b) =>
    (typeof a === 'number' && typeof b === 'number') || (typeof a === 'string' && typeof b === 'string')
      ? holds(a, b)
      : false

/** Records and arrays equal nothing, not even themselves. */
const isSame: Comparison = (a, b) => (typeof a !== 'object' || a === null) && a === b

const comparisons: Record<string, Comparison> = {
  eq: isSame,
  ne: (a, b) => !isSame(a, b),
  lt: ordered((a, b) => a < b),
  lte: ordered((a, b) => a <= b),
  gt: ordered((a, b) => a > b),
  gte: ordered((a, b) => a >= b),
}

/** Conditions never throw. A missing side makes every comparison false, `ne` included. */
export function evaluate(condition: Condition, scope: Scope): boolean {
  switch (condition.op) {
    case 'compare': {
      const left = operandValue(condition.left, scope)
      const right = operandValue(condition.right, scope)
      return left !== undefined && right !== undefined && condition.holds(left, right)
    }
    case 'in':
    case 'notIn': {
      const value = operandValue(condition.value, scope)
      const isIn = value !== undefined && condition.set.has(value as Scalar)
      return isIn === (condition.op === 'in')
    }
    case 'exists':
    case 'notExists':
      return (operandValue(condition, scope) !== undefined) === (condition.op === 'exists')
    case 'truthy':
    case 'falsy':
      return Boolean(operandValue(condition.value, scope)) === (condition.op === 'truthy')
    case 'and':
      return condition.args.every((arg) => evaluate(arg, scope))
    case 'or':
      return condition.args.some((arg) => evaluate(arg, scope))
    case 'not':
      return !evaluate(condition.arg, scope)
  }
}

/** Undefined is missing; a null that is there is not. */
function operandValue(operand: Operand, scope: Scope): unknown {
  if ('literal' in operand) return operand.literal
  const found = resolveReference(operand.reference, scope)
  return found?.found ? found.value : undefined
}

interface ConditionReading {
  readonly add: AddIssue
  readonly knows: (stepId: string) => boolean
  nodes: number
}

/** Reads a condition and reports what is wrong with it; undefined if anything is. */
export function readCondition(
  raw: unknown,
  path: string,
  add: AddIssue,
  knows: (stepId: string) => boolean,
): Condition | undefined {
  const reading = { add, knows, nodes: 0 }
  const condition = read(raw, path, 1, reading)
  if (reading.nodes <= definitionLimits.conditionNodes) return condition
  add('predicate-too-deep', path, `A condition has at most ${definitionLimits.conditionNodes} parts.`)
  return undefined
}

const fieldsOf: Record<string, readonly string[]> = {
  ...Object.fromEntries(Object.keys(comparisons).map((op) => [op, ['left', 'right']])),
  in: ['value', 'set'],
  notIn: ['value', 'set'],
  exists: ['path'],
  notExists: ['path'],
  truthy: ['value'],
  falsy: ['value'],
  and: ['args'],
  or: ['args'],
  not: ['arg'],
}

function read(raw: unknown, path: string, depth: number, reading: ConditionReading): Condition | undefined {
  const { add } = reading
  if (++reading.nodes > definitionLimits.conditionNodes) return undefined
  if (depth > definitionLimits.conditionDepth) {
    add('predicate-too-deep', path, `Conditions nest at most ${definitionLimits.conditionDepth} deep.`)
    return undefined
  }
  if (!isRecord(raw)) {
    add('invalid-predicate', path, 'A condition is a record with an op.')
    return undefined
  }
  const op = own(raw, 'op')
  const fields = typeof op === 'string' && Object.hasOwn(fieldsOf, op) ? fieldsOf[op] : undefined
  if (typeof op !== 'string' || !fields) {
    add('invalid-predicate', joinPath(path, 'op'), `op must be one of ${Object.keys(fieldsOf).join(', ')}.`)
    return undefined
  }
  for (const key of Object.keys(raw))
    if (key !== 'op' && !fields.includes(key))
      add('unknown-field', joinPath(path, key), `A condition "${op}" has only op, ${fields.join(', ')}.`)
  const missing = fields.filter((field) => !Object.hasOwn(raw, field))
  for (const field of missing)
    add('invalid-predicate', joinPath(path, field), `A condition "${op}" needs ${field}.`)
  return missing.length > 0 ? undefined : readOperator(op, raw, path, depth, reading)
}

function readOperator(
  op: string,
  raw: JsonRecord,
  path: string,
  depth: number,
  reading: ConditionReading,
): Condition | undefined {
  const comparison = comparisons[op]
  if (comparison) {
    const left = readOperand(raw['left'], joinPath(path, 'left'), reading)
    const right = readOperand(raw['right'], joinPath(path, 'right'), reading)
    return left && right && { op: 'compare', holds: comparison, left, right }
  }
  switch (op) {
    case 'in':
    case 'notIn': {
      const value = readOperand(raw['value'], joinPath(path, 'value'), reading)
      const set = readSet(raw['set'], joinPath(path, 'set'), reading)
      return value && set && { op, value, set }
    }
    case 'exists':
    case 'notExists': {
      const reference = readReference(raw['path'], joinPath(path, 'path'), reading)
      return reference && { op, reference }
    }
    case 'truthy':
    case 'falsy': {
      const value = readOperand(raw['value'], joinPath(path, 'value'), reading)
      return value && { op, value }
    }
    case 'not': {
      const arg = read(raw['arg'], joinPath(path, 'arg'), depth + 1, reading)
      return arg && { op, arg }
    }
    default:
      return readArgs(op === 'and' ? 'and' : 'or', raw['args'], joinPath(path, 'args'), depth, reading)
  }
}

function readArgs(
  op: 'and' | 'or',
  raw: unknown,
  path: string,
  depth: number,
  reading: ConditionReading,
): Condition | undefined {
  if (!Array.isArray(raw) || raw.length === 0) {
    reading.add('invalid-predicate', path, 'args is a list of at least one condition.')
    return undefined
  }
  // No more are read than may be there, however many are given.
  const some = raw.slice(0, definitionLimits.conditionNodes + 1)
  const args = some.map((arg, index) => read(arg, joinPath(path, index), depth + 1, reading))
  return args.every((arg) => arg !== undefined) ? { op, args } : undefined
}

function isScalar(value: unknown): value is Scalar {
  return value === null || typeof value === 'number' || typeof value === 'boolean' || isShortText(value)
}

function isShortText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= definitionLimits.literalLength
}

function readSet(raw: unknown, path: string, { add }: ConditionReading): ReadonlySet<Scalar> | undefined {
  const { setSize, literalLength } = definitionLimits
  if (Array.isArray(raw) && raw.length > 0 && raw.length <= setSize && raw.every(isScalar))
    return new Set(raw)
  add(
    'invalid-predicate',
    path,
    `set is a list of 1 to ${setSize} texts (up to ${literalLength} characters), numbers, booleans or nulls.`,
  )
  return undefined
}

function readOperand(raw: unknown, path: string, reading: ConditionReading): Operand | undefined {
  if (isRecord(raw) && Object.keys(raw).length === 1) {
    if (Object.hasOwn(raw, 'path')) {
      const reference = readReference(raw['path'], joinPath(path, 'path'), reading)
      return reference && { reference }
    }
    const literal = own(raw, 'literal')
    if (Object.hasOwn(raw, 'literal') && isScalar(literal)) return { literal }
  }
  reading.add(
    'invalid-predicate',
    path,
    `An operand is {"path": text} or {"literal": value}, a text of at most ${definitionLimits.literalLength} characters, a number, a boolean or null.`,
  )
  return undefined
}

function readReference(raw: unknown, path: string, { add, knows }: ConditionReading): Reference | undefined {
  const isWellFormed = typeof raw === 'string' && /^[A-Za-z]+(\.[A-Za-z0-9_-]+)*$/.test(raw)
  const reference = isWellFormed ? parseReference(raw) : undefined
  if (!reference || reference.root === 'requestContext') {
    add(
      'invalid-predicate-path',
      path,
      'A path starts with initData, inputData, state or stepResults.<step> and has only names and dots.',
    )
    return undefined
  }
  if (reference.root === 'stepResults' && !knows(reference.stepId)) {
    add('unknown-step-reference', path, `No earlier step is called "${reference.stepId.slice(0, 128)}".`)
    return undefined
  }
  return reference
}
