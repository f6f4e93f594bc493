import { isRecord, type JsonRecord, joinPath, own } from './json.ts'
import { compilePattern } from './pattern.ts'
import { definitionNamed } from './schema.ts'

/*
 * Checks a value against a schema that checkSchema accepted. No coercion, no defaults. Everything that is looked at
 * costs, and whoever runs out is refused: schema times value can be quadratic and worse with small texts on both sides.
 */

export interface ValueIssue {
  readonly path: string
  readonly message: string
  readonly keyword: string
}

/** Up to about 200 ns each, so that the worst case stays under 50 ms. The largest flat list of inputs takes 100,000. */
const workLimit = 150_000
const maxDepth = 200
const maxIssues = 100

class TooMuchWork extends Error {}

/** A path that becomes a text only when there is something to tell. */
interface Where {
  readonly parent: Where | undefined
  readonly key: string | number
}

interface Check {
  readonly root: JsonRecord
  readonly targets: Map<unknown, unknown>
  readonly issues: ValueIssue[]
  workLeft: number
  depth: number
}

type Rule = string | undefined

export function validateValue(schema: JsonRecord, value: unknown): ValueIssue[] {
  const check: Check = { root: schema, targets: new Map(), issues: [], workLeft: workLimit, depth: 0 }
  try {
    holds(check, schema, value, undefined, true)
  } catch (error) {
    if (!(error instanceof TooMuchWork)) throw error
    return [{ path: '', keyword: '', message: 'is too large or too deep to be checked; send less' }]
  }
  return check.issues
}

function spend(check: Check, work: number): void {
  check.workLeft -= work
  if (check.workLeft < 0) throw new TooMuchWork()
}

function tellIssue({ issues }: Check, where: Where | undefined, keyword: string, message: string): void {
  if (issues.length >= maxIssues) return
  const keys: (string | number)[] = []
  for (let at = where; at; at = at.parent) keys.unshift(at.key)
  issues.push({ path: keys.reduce<string>(joinPath, ''), keyword, message })
}

/** Whether the schema holds; with `tell`, what does not is also listed. */
function holds(
  check: Check,
  schema: unknown,
  value: unknown,
  where: Where | undefined,
  tell: boolean,
): boolean {
  spend(check, 1)
  if (schema === false && tell) tellIssue(check, where, 'false schema', 'is not allowed here')
  if (!isRecord(schema)) return schema !== false
  if (++check.depth > maxDepth) throw new TooMuchWork()
  let valid = true
  for (const keyword in schema) {
    spend(check, 1)
    const problem = rules.get(keyword)?.(schema, value, check, where, tell)
    if (problem === undefined) continue
    valid = false
    // An empty text comes from a part of the value that has already told its own.
    if (tell && problem !== '') tellIssue(check, where, keyword, problem)
    if (!tell) break
  }
  check.depth--
  return valid
}

/** Undefined when the keyword holds, else what the value should be. */
type KeywordRule = (
  schema: JsonRecord,
  value: unknown,
  check: Check,
  where: Where | undefined,
  tell: boolean,
) => string | undefined

const unless = (fine: boolean, problem: string): Rule => (fine ? undefined : problem)

const onNumber =
  (keyword: string, fine: (value: number, limit: number) => boolean, problem: string): KeywordRule =>
  (schema, value) => {
    const limit = Number(own(schema, keyword))
    return unless(typeof value !== 'number' || fine(value, limit), `${problem} ${limit}`)
  }

const onSize =
  (
    keyword: string,
    sizeOf: (value: unknown, check: Check) => number | undefined,
    unit: string,
  ): KeywordRule =>
  (schema, value, check) => {
    const size = sizeOf(value, check)
    const limit = Number(own(schema, keyword))
    if (size === undefined) return undefined
    return keyword.startsWith('min')
      ? unless(size >= limit, `must have at least ${limit} ${unit}`)
      : unless(size <= limit, `must have at most ${limit} ${unit}`)
  }

const itemCount = (value: unknown) => (Array.isArray(value) ? value.length : undefined)
const propertyCount = (value: unknown, check: Check) => {
  if (!isRecord(value)) return undefined
  const { length } = Object.keys(value)
  spend(check, length)
  return length
}
const characterCount = (value: unknown, check: Check) => {
  if (typeof value !== 'string') return undefined
  spend(check, value.length >> 3)
  let pairs = 0
  for (let at = 0; at < value.length; at++) if ((value.codePointAt(at) ?? 0) > 0xffff) pairs++
  return value.length - pairs
}

const keywordRules: Record<string, KeywordRule> = {
  type: (schema, value) => {
    const type = own(schema, 'type')
    const fits = Array.isArray(type) ? type.some((one) => isOfType(value, one)) : isOfType(value, type)
    return fits ? undefined : `must be ${[type].flat().join(' or ')}`
  },
  enum: (schema, value, check) => {
    const values = own(schema, 'enum') as unknown[]
    return unless(
      values.some((allowed) => isEqual(check, allowed, value)),
      'must be one of the allowed values',
    )
  },
  const: (schema, value, check) =>
    unless(isEqual(check, own(schema, 'const'), value), 'must be the one allowed value'),
  minimum: onNumber('minimum', (value, limit) => value >= limit, 'must be at least'),
  maximum: onNumber('maximum', (value, limit) => value <= limit, 'must be at most'),
  exclusiveMinimum: onNumber('exclusiveMinimum', (value, limit) => value > limit, 'must be more than'),
  exclusiveMaximum: onNumber('exclusiveMaximum', (value, limit) => value < limit, 'must be less than'),
  multipleOf: onNumber(
    'multipleOf',
    (value, step) => Number.isInteger(value / step),
    'must be a multiple of',
  ),
  minLength: onSize('minLength', characterCount, 'characters'),
  maxLength: onSize('maxLength', characterCount, 'characters'),
  minItems: onSize('minItems', itemCount, 'items'),
  maxItems: onSize('maxItems', itemCount, 'items'),
  minProperties: onSize('minProperties', propertyCount, 'properties'),
  maxProperties: onSize('maxProperties', propertyCount, 'properties'),
  pattern: (schema, value, check) => {
    if (typeof value !== 'string') return undefined
    const pattern = compilePattern(String(own(schema, 'pattern')))
    if (!pattern) return 'cannot be checked: the pattern of the schema does not run'
    spend(check, (value.length * pattern.programSize) >> 2)
    return unless(pattern.test(value), 'must match the pattern of the schema')
  },
  uniqueItems: (schema, value, check) => {
    if (own(schema, 'uniqueItems') !== true || !Array.isArray(value)) return undefined
    const seen = new Set(value.map((item) => canonical(check, item)))
    return unless(seen.size === value.length, 'must not have equal items')
  },
  required: (schema, value, check) => {
    if (!isRecord(value)) return undefined
    const required = own(schema, 'required') as string[]
    spend(check, required.length)
    const missing = required.filter((name) => !Object.hasOwn(value, name))
    return unless(missing.length === 0, `must have ${missing.slice(0, 5).join(', ')}`)
  },
  properties: (schema, value, check, where, tell) => {
    const properties = own(schema, 'properties')
    if (!isRecord(value) || !isRecord(properties)) return undefined
    return every(Object.keys(value), 0, tell, (name) => {
      spend(check, 1)
      const child = own(properties, name)
      return child === undefined || holds(check, child, value[name], { parent: where, key: name }, tell)
    })
  },
  additionalProperties: (schema, value, check, where, tell) => {
    if (!isRecord(value)) return undefined
    const properties = own(schema, 'properties')
    const rest = own(schema, 'additionalProperties')
    return every(Object.keys(value), 0, tell, (name) => {
      spend(check, 1)
      const isDeclared = isRecord(properties) && Object.hasOwn(properties, name)
      return isDeclared || holds(check, rest, value[name], { parent: where, key: name }, tell)
    })
  },
  prefixItems: (schema, value, check, where, tell) => {
    const schemas = own(schema, 'prefixItems') as unknown[]
    if (!Array.isArray(value)) return undefined
    return every(value.slice(0, schemas.length), 0, tell, (item, key) =>
      holds(check, schemas[key], item, { parent: where, key }, tell),
    )
  },
  items: (schema, value, check, where, tell) => {
    if (!Array.isArray(value)) return undefined
    const before = own(schema, 'prefixItems')
    const items = own(schema, 'items')
    return every(value, Array.isArray(before) ? before.length : 0, tell, (item, key) =>
      holds(check, items, item, { parent: where, key }, tell),
    )
  },
  allOf: (schema, value, check, where, tell) =>
    every(own(schema, 'allOf') as unknown[], 0, tell, (part) => holds(check, part, value, where, tell)),
  anyOf: (schema, value, check, where) =>
    unless(
      (own(schema, 'anyOf') as unknown[]).some((part) => holds(check, part, value, where, false)),
      'must fit one of the alternatives',
    ),
  oneOf: (schema, value, check, where) => {
    const fitting = (own(schema, 'oneOf') as unknown[]).filter((part) =>
      holds(check, part, value, where, false),
    )
    return unless(fitting.length === 1, `must fit exactly one of the alternatives, fits ${fitting.length}`)
  },
  not: (schema, value, check, where) =>
    unless(!holds(check, own(schema, 'not'), value, where, false), 'must not fit the excluded schema'),
  $ref: (schema, value, check, where, tell) => {
    const reference = own(schema, '$ref')
    if (!check.targets.has(reference))
      check.targets.set(reference, definitionNamed(check.root, String(reference)))
    return unless(holds(check, check.targets.get(reference), value, where, tell), '')
  },
}

const rules: ReadonlyMap<string, KeywordRule> = new Map(Object.entries(keywordRules))

/** Goes on after a failure only when failures are listed. */
function every<T>(
  items: readonly T[],
  from: number,
  tell: boolean,
  fine: (item: T, index: number) => boolean,
): Rule {
  let all = true
  for (let index = from; index < items.length && (all || tell); index++)
    if (!fine(items[index] as T, index)) all = false
  return unless(all, '')
}

function isOfType(value: unknown, type: unknown): boolean {
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isRecord(value)
  if (type === 'null') return value === null
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}

function isEqual(check: Check, a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) {
    check.workLeft -= 0.1
    return a === b
  }
  spend(check, 1)
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => isEqual(check, item, b[index]))
  if (!isRecord(a) || !isRecord(b)) return false
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isEqual(check, a[name], b[name]))
  )
}

/** A text that is the same for equal values, whatever the order of their keys. */
function canonical(check: Check, value: unknown): string {
  spend(check, 1)
  if (typeof value !== 'object' || value === null) return written(check, JSON.stringify(value))
  if (++check.depth > maxDepth) throw new TooMuchWork()
  const text = Array.isArray(value)
    ? `[${value.map((item) => canonical(check, item)).join()}]`
    : `{${Object.entries(value)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, item]) => `${JSON.stringify(name)}:${canonical(check, item)}`)
        .join()}}`
  check.depth--
  return written(check, text)
}

/** One long text is as much work as many short ones, and is written anew by everything it is a part of. */
function written(check: Check, text: string): string {
  spend(check, text.length >> 3)
  return text
}
