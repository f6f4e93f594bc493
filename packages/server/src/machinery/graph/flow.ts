import { isRecord, type JsonRecord, own } from './json.ts'
import type { Path } from './reference.ts'

/*
 * What is known at install about the values that will flow. Only what no run could satisfy is reported, so whatever
 * is not certain is `anything`.
 */
export type Shape =
  | { readonly kind: 'anything' }
  | { readonly kind: 'scalar' }
  /** With the very text where the definition has it. */
  | { readonly kind: 'text'; readonly literal?: string }
  | { readonly kind: 'array'; readonly items: Shape }
  /** A closed record has no other keys than these; it need not have them all. */
  | { readonly kind: 'record'; readonly closed: boolean; readonly keys: ReadonlyMap<string, Shape> }

export const anything: Shape = { kind: 'anything' }
export const text: Shape = { kind: 'text' }
const scalar: Shape = { kind: 'scalar' }
/** What a faulty mapping or container still is. */
export const someRecord: Shape = { kind: 'record', closed: false, keys: new Map() }

export function closedRecord(keys: Iterable<readonly [string, Shape]>): Shape {
  return { kind: 'record', closed: true, keys: new Map(keys) }
}

/** Of a schema that was checked. Other keywords only narrow what `type` allows, so they can be left aside. */
export function shapeOfSchema(schema: unknown): Shape {
  if (!isRecord(schema)) return anything
  switch (own(schema, 'type')) {
    case 'string':
      return text
    case 'number':
    case 'integer':
    case 'boolean':
    case 'null':
      return scalar
    case 'array':
      return {
        kind: 'array',
        items: Object.hasOwn(schema, 'prefixItems') ? anything : shapeOfSchema(own(schema, 'items')),
      }
    case 'object': {
      const properties = own(schema, 'properties')
      const keys = Object.entries(isRecord(properties) ? properties : {})
      return {
        kind: 'record',
        closed: own(schema, 'additionalProperties') === false,
        keys: new Map(keys.map(([key, property]) => [key, shapeOfSchema(property)])),
      }
    }
    default:
      return anything
  }
}

export function shapeOfValue(value: unknown): Shape {
  if (typeof value === 'string') return { kind: 'text', literal: value }
  if (Array.isArray(value)) return { kind: 'array', items: anything }
  if (!isRecord(value)) return scalar
  return closedRecord(Object.entries(value).map(([key, item]) => [key, shapeOfValue(item)]))
}

/** The text that the definition itself gives for a key; undefined when a run could bring another one. */
export function literalAt(shape: Shape | undefined, key: string): string | undefined {
  const at = shape?.kind === 'record' ? shape.keys.get(key) : undefined
  return at?.kind === 'text' ? at.literal : undefined
}

/** Whether no value of this shape has the key. */
export function lacksKey(shape: Shape, key: string): boolean {
  if (shape.kind === 'anything') return false
  return shape.kind !== 'record' || (shape.closed && !shape.keys.has(key))
}

/** The names that a schema requires and the shape cannot have. */
export function lackingKeys(shape: Shape, schema: JsonRecord): string[] {
  const required = own(schema, 'required')
  if (!Array.isArray(required)) return []
  return required.filter((key): key is string => typeof key === 'string' && lacksKey(shape, key))
}

/** Undefined when no value of this shape has anything there. */
export function shapeAt(shape: Shape, path: Path): Shape | undefined {
  let current = shape
  for (const segment of path) {
    if (current.kind === 'array') {
      if (segment === 'length') current = scalar
      else if (/^\d+$/.test(segment)) current = current.items
      else return undefined
    } else {
      if (lacksKey(current, segment)) return undefined
      current = (current.kind === 'record' && current.keys.get(segment)) || anything
    }
  }
  return current
}
