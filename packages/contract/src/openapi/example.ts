import type { TSchema } from 'typebox'
import { baseOf, shapeOf } from '../shapes.ts'
import { recordExamples } from './record-examples.ts'

interface Schema {
  readonly title?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly type?: string | readonly string[]
  readonly anyOf?: readonly TSchema[]
  readonly items?: TSchema
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
}

/** What follows from the examples of the named records in a schema; undefined where it has parts that have none. */
export function exampleOf(schema: TSchema): unknown {
  const {
    title,
    type,
    anyOf,
    items,
    properties,
    required = [],
    ...rest
  } = (shapeOf(schema) ?? schema) as Schema
  const named = title === undefined ? undefined : (recordExamples[title] ?? exampleOfBase(title))
  if (named !== undefined) return named
  if (rest.const !== undefined) return rest.const
  if (rest.enum) return rest.enum[0]
  if (type?.includes('null')) return null
  if (anyOf?.[0]) return exampleOf(anyOf[0])
  if (items) {
    const item = exampleOf(items)
    return item === undefined ? undefined : [item]
  }
  if (!properties) return scalars[String(type)]
  const fields = required.map((name) => [name, exampleOf(properties[name] as TSchema)] as const)
  return fields.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(fields)
}

/** Of a record that another one begins with: what it adds may be left out, or it has an example of its own. */
function exampleOfBase(title: string): unknown {
  const base = baseOf(title)
  return base && exampleOf(base)
}

/** Enough beside a record, as the number of pages is. */
const scalars: Readonly<Record<string, unknown>> = { boolean: false, number: 1, integer: 1, object: {} }
