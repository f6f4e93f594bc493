import { type AddIssue, collectIssues, type IssueReport } from './issues.ts'
import { isRecord, type JsonRecord, joinPath, jsonBytes, own } from './json.ts'
import { schemaLimits } from './limits.ts'
import { compilePattern, costToCompile } from './pattern.ts'

/*
 * Which JSON Schemas (draft 2020-12) are accepted. They come from tenants, so a schema is checked and later interpreted
 * (schema-value.ts), never turned into code: a code-generating validator took 1.5 s for a schema of 59 KB that is
 * within the limits here, and runs over a process-wide stack.
 */

const types = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']
const count = (value: unknown) => Number.isInteger(value) && Number(value) >= 0
const number = (value: unknown) => typeof value === 'number' && Number.isFinite(value)
const flag = (value: unknown) => typeof value === 'boolean'
const schemaLike = (value: unknown) => isRecord(value) || typeof value === 'boolean'
const names = (value: unknown) => Array.isArray(value) && value.every((name) => typeof name === 'string')
const isType = (value: unknown) => typeof value === 'string' && types.includes(value)

/** What a keyword's value must be. Subschemas are looked into elsewhere. */
const keywords: Record<string, [fits: (value: unknown) => boolean, expected: string]> = {
  type: [
    (value) => isType(value) || (Array.isArray(value) && value.length > 0 && value.every(isType)),
    `one of ${types.join(', ')}, or a list of them`,
  ],
  properties: [isRecord, 'a record of schemas'],
  $defs: [isRecord, 'a record of schemas'],
  required: [names, 'a list of names'],
  additionalProperties: [schemaLike, 'a schema or a boolean'],
  items: [schemaLike, 'a schema or a boolean'],
  not: [schemaLike, 'a schema or a boolean'],
  prefixItems: [(value) => Array.isArray(value) && value.length > 0, 'a non-empty list of schemas'],
  anyOf: [(value) => Array.isArray(value) && value.length > 0, 'a non-empty list of schemas'],
  oneOf: [(value) => Array.isArray(value) && value.length > 0, 'a non-empty list of schemas'],
  allOf: [(value) => Array.isArray(value) && value.length > 0, 'a non-empty list of schemas'],
  enum: [Array.isArray, 'a list of values'],
  minimum: [number, 'a number'],
  maximum: [number, 'a number'],
  exclusiveMinimum: [number, 'a number'],
  exclusiveMaximum: [number, 'a number'],
  multipleOf: [(value) => number(value) && Number(value) > 0, 'a number above 0'],
  minLength: [count, 'a whole number from 0'],
  maxLength: [count, 'a whole number from 0'],
  minItems: [count, 'a whole number from 0'],
  maxItems: [count, 'a whole number from 0'],
  minProperties: [count, 'a whole number from 0'],
  maxProperties: [count, 'a whole number from 0'],
  uniqueItems: [flag, 'true or false'],
  pattern: [(value) => typeof value === 'string', 'a text'],
  $ref: [(value) => typeof value === 'string', 'a text'],
}

/** Keywords of JSON Schema that would be silently without effect here. */
const unsupported = new Set([
  '$dynamicRef',
  '$recursiveRef',
  'patternProperties',
  'propertyNames',
  'if',
  'then',
  'else',
  'unevaluatedProperties',
  'unevaluatedItems',
  'additionalItems',
  'contains',
  'minContains',
  'maxContains',
  'dependencies',
  'dependentRequired',
  'dependentSchemas',
])

const mapsOfSchemas = ['properties', '$defs']
const listsOfSchemas = ['prefixItems', 'anyOf', 'oneOf', 'allOf']
const singleSchemas = ['items', 'additionalProperties', 'not']

/** Shared by all schemas of a definition. */
export interface PatternBudget {
  instructionsLeft: number
}

/** Reports what keeps a schema from being used; `path` is where it stands in the definition. */
export function checkSchema(schema: unknown, path: string, add: AddIssue, patterns: PatternBudget): boolean {
  let issues = 0
  const note: AddIssue = (...issue) => {
    issues++
    add(...issue)
  }
  if (!isRecord(schema)) note('wrong-type', path, 'A schema is a record; `{}` accepts everything.')
  else if (jsonBytes(schema) > schemaLimits.bytes)
    note('schema-too-large', path, `A schema has at most ${schemaLimits.bytes} bytes.`)
  else {
    visit({ root: schema, add: note, patterns }, schema, path, 1)
    if (issues === 0) refuseEndlessReferences(schema, path, note)
  }
  return issues === 0
}

/** What keeps a schema that stands by itself from being used; nothing when the list is empty. */
export function issuesOfSchema(schema: unknown, path: string): IssueReport {
  const { add, report } = collectIssues()
  checkSchema(schema, path, add, { instructionsLeft: schemaLimits.patternProgramsTotal })
  return report()
}

interface Visit {
  readonly root: JsonRecord
  readonly add: AddIssue
  readonly patterns: PatternBudget
}

function visit(visited: Visit, schema: unknown, path: string, depth: number): undefined {
  if (typeof schema === 'boolean') return
  if (!isRecord(schema)) return visited.add('invalid-schema', path, 'A schema is a record or a boolean.')
  if (depth > schemaLimits.depth)
    return visited.add('schema-too-large', path, `Schemas nest at most ${schemaLimits.depth} deep.`)
  for (const [keyword, value] of Object.entries(schema)) {
    const at = joinPath(path, keyword)
    if (unsupported.has(keyword)) {
      visited.add('unsupported-schema-keyword', at, `The keyword ${keyword} is not supported.`)
      continue
    }
    const rule = Object.hasOwn(keywords, keyword) ? keywords[keyword] : undefined
    if (rule && !rule[0](value)) visited.add('invalid-schema', at, `${keyword} must be ${rule[1]}.`)
    else if (mapsOfSchemas.includes(keyword))
      for (const [name, child] of Object.entries(value as JsonRecord))
        visit(visited, child, joinPath(at, name), depth + 1)
    else if (listsOfSchemas.includes(keyword))
      for (const [index, child] of (value as unknown[]).entries())
        visit(visited, child, joinPath(at, index), depth + 1)
    else if (singleSchemas.includes(keyword)) visit(visited, value, at, depth + 1)
    else checkSpecial(visited, keyword, value, at)
  }
}

function checkSpecial(
  { root, add, patterns }: Visit,
  keyword: string,
  value: unknown,
  at: string,
): undefined {
  if (keyword === 'enum' && (value as unknown[]).length > schemaLimits.enumSize)
    add('schema-too-large', at, `An enum has at most ${schemaLimits.enumSize} values.`)
  if (keyword === 'pattern') checkPattern(String(value), at, add, patterns)
  if (keyword !== '$ref') return
  if (!String(value).startsWith('#/$defs/'))
    add('unsupported-schema-keyword', at, 'A reference must be local: "#/$defs/<name>".')
  else if (definitionNamed(root, String(value)) === undefined)
    add('invalid-schema', at, 'The reference names nothing in $defs of this schema.')
}

function checkPattern(source: string, at: string, add: AddIssue, patterns: PatternBudget): undefined {
  if (source.length > schemaLimits.patternLength)
    return add('unsafe-pattern', at, `A pattern has at most ${schemaLimits.patternLength} characters.`)
  // Also a small pattern, and one that does not compile, takes its time.
  patterns.instructionsLeft -= costToCompile(source)
  if (patterns.instructionsLeft <= 0)
    return add('schema-too-large', at, 'The patterns of this definition are too many or too large.')
  const pattern = compilePattern(source)
  patterns.instructionsLeft -= pattern?.programSize ?? 0
  if (!pattern)
    add(
      'unsafe-pattern',
      at,
      'The pattern cannot be run safely; leave out back references, look-around, large nested counts and many Unicode classes or wide ranges without regard to case.',
    )
}

/** The schema that `#/$defs/<name>` stands for. */
export function definitionNamed(root: JsonRecord, reference: string): unknown {
  const definitions = own(root, '$defs')
  const name = reference.slice('#/$defs/'.length).replaceAll('~1', '/').replaceAll('~0', '~')
  return isRecord(definitions) ? own(definitions, name) : undefined
}

/**
 * A schema may refer to itself for the parts of a value, since a value ends somewhere. One that refers to itself for
 * the same value has no answer.
 */
function refuseEndlessReferences(root: JsonRecord, path: string, add: AddIssue): undefined {
  const done = new Set<unknown>()
  const open = new Set<unknown>()
  const follow = (schema: unknown): boolean => {
    if (!isRecord(schema) || done.has(schema)) return true
    if (open.has(schema)) return false
    open.add(schema)
    const sameValue = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => {
      const list = own(schema, keyword)
      return Array.isArray(list) ? list : []
    })
    const reference = own(schema, '$ref')
    if (typeof reference === 'string') sameValue.push(definitionNamed(root, reference))
    const ends = [...sameValue, own(schema, 'not')].every(follow)
    open.delete(schema)
    done.add(schema)
    return ends
  }
  const definitions = own(root, '$defs')
  if (!follow(root)) return add('invalid-schema', path, 'The schema refers to itself for the same value.')
  for (const [name, definition] of Object.entries(isRecord(definitions) ? definitions : {})) {
    const at = joinPath(joinPath(path, '$defs'), name)
    if (!follow(definition))
      return add('invalid-schema', at, 'The schema refers to itself for the same value.')
  }
}
