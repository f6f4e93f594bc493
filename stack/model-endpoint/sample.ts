import { isObject } from './protocol.ts'

type Schema = Record<string, unknown>

/** Deep enough for any schema that means it; one that refers to itself ends here. */
const deepest = 12

const texts: Record<string, string> = {
  date: '2026-01-01',
  'date-time': '2026-01-01T00:00:00Z',
  email: 'someone@example.test',
  uri: 'https://example.test/',
  uuid: '00000000-0000-4000-8000-000000000000',
}

/** A small value that fits a JSON Schema; patterns and conditions are not looked at. */
export function sampleOf(root: Schema): unknown {
  return sample(root, root, 0)
}

function sample(schema: unknown, root: Schema, depth: number): unknown {
  if (!isObject(schema) || depth > deepest) return null
  const { $ref, const: constant, enum: allowed, anyOf, oneOf, allOf } = schema
  if (typeof $ref === 'string') return sample(resolve($ref, root), root, depth + 1)
  if (constant !== undefined) return constant
  if (Array.isArray(allowed)) return allowed[0]
  const choices = anyOf ?? oneOf
  if (Array.isArray(choices)) return sample(choices[0], root, depth + 1)
  if (Array.isArray(allOf)) return sample(Object.assign({}, ...allOf), root, depth + 1)
  return sampleByType(schema, root, depth)
}

function sampleByType(schema: Schema, root: Schema, depth: number): unknown {
  const type = Array.isArray(schema['type']) ? schema['type'][0] : schema['type']
  switch (type) {
    case 'string':
      return sampleText(schema)
    case 'number':
    case 'integer':
      return sampleNumber(schema)
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array': {
      const length = Number(schema['minItems'] ?? 0)
      return Array.from({ length }, () => sample(schema['items'], root, depth + 1))
    }
    default: {
      const properties = isObject(schema['properties']) ? schema['properties'] : {}
      const required = Array.isArray(schema['required']) ? schema['required'].map(String) : []
      return Object.fromEntries(required.map((name) => [name, sample(properties[name], root, depth + 1)]))
    }
  }
}

function sampleText(schema: Schema): string {
  const text = texts[String(schema['format'])] ?? 'text'
  return text.padEnd(Number(schema['minLength'] ?? 0), '.').slice(0, Number(schema['maxLength'] ?? 10_000))
}

function sampleNumber(schema: Schema): number {
  const { minimum, exclusiveMinimum, maximum } = schema
  const least = typeof minimum === 'number' ? minimum : Number(exclusiveMinimum ?? 0) + 1
  return Math.min(Math.max(1, least), typeof maximum === 'number' ? maximum : Number.POSITIVE_INFINITY)
}

/** `#/$defs/name`: only what stands in the same document. */
function resolve(reference: string, root: Schema): unknown {
  const path = reference.replace(/^#\/?/, '').split('/').filter(Boolean)
  return path.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), root)
}
