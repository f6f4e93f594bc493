import type { Column } from './records.ts'

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: unknown
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly const?: unknown
}

/** What is added wherever a schema says which fields there are. */
export type Planted = ReadonlyMap<string, unknown>

/** A value with every planted field in every object that the schema closes, and how many were added. */
export function plant(
  schema: Schema | undefined,
  value: unknown,
  planted: Planted,
): { value: unknown; count: number } {
  let count = 0
  const walk = (shape: Schema, inner: unknown): unknown => {
    if (Array.isArray(inner)) return shape.items ? inner.map((item) => walk(shape.items ?? {}, item)) : inner
    if (typeof inner !== 'object' || inner === null) return inner
    const branch = shape.anyOf?.find((candidate) => fits(candidate, inner))
    if (branch) return walk(branch, inner)
    const { properties } = shape
    if (!properties) return inner
    const grown = Object.entries(inner).map(([name, field]) => [name, walk(properties[name] ?? {}, field)])
    if (shape.additionalProperties === true) return Object.fromEntries(grown)
    const added = [...planted].filter(([name]) => !Object.hasOwn(properties, name))
    count += added.length
    return Object.fromEntries([...grown, ...added])
  }
  // A route without a schema of its body describes one without fields.
  const grown = walk(schema ?? { properties: {} }, value ?? {})
  return { value: grown, count }
}

function fits({ properties = {} }: Schema, value: object): boolean {
  const entries = Object.entries(properties).filter(([, field]) => Object.hasOwn(field, 'const'))
  return entries.every(([name, field]) => (value as Record<string, unknown>)[name] === field.const)
}

/** Somebody else's, where a column's type says that a row of theirs could be meant. */
export interface Strangers {
  readonly workspaceId: string
  readonly userId: string
}

/** Every column in both spellings and every option, each with a value that a statement would accept there. */
export function plantedFields(
  columns: readonly Column[],
  options: ReadonlyMap<string, string>,
  strangers: Strangers,
): Planted {
  const planted = new Map<string, unknown>()
  for (const [name, type] of options) planted.set(name, valueOfType(type, strangers))
  for (const column of columns) {
    const value = valueOfColumn(column, strangers)
    planted.set(column.name, value)
    planted.set(camel(column.name), value)
  }
  return planted
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_text, letter: string) => letter.toUpperCase())
}

function valueOfColumn({ name, type }: Column, { workspaceId, userId }: Strangers): unknown {
  if (type === 'uuid') return name.includes('workspace') ? workspaceId : userId
  if (type === 'boolean') return true
  if (['bigint', 'integer', 'smallint', 'numeric', 'double precision'].includes(type)) return 1
  if (type === 'jsonb' || type === 'json') return nested(workspaceId)
  if (type === 'ARRAY') return ['*']
  if (type.startsWith('timestamp')) return '2001-01-01T00:00:00.000Z'
  return 'planted'
}

function valueOfType(type: string, { workspaceId }: Strangers): unknown {
  if (/\bboolean\b/.test(type)) return true
  if (/\bnumber\b/.test(type)) return 1
  if (/\bstring\b/.test(type) && !/[{[]/.test(type)) return 'planted'
  return nested(workspaceId)
}

/** Of all shapes that options have inside of one another. */
function nested(workspaceId: string) {
  const step = { runId: 'run_planted', key: 'planted', awakeableId: '../planted' }
  const row = { id: 1, execution_id: 'exec_planted', trace_id: 'trace_planted', workspace_id: workspaceId }
  return { ...step, ...row, workspaceId, checksum: 'planted' }
}
