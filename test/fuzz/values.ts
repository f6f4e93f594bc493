import type { Random } from './random.ts'

/** As much of JSON Schema as the contract uses. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly format?: string
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly maxItems?: number
}

export const times = [
  '2026-01-01T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '2025-02-29T00:00:00.000Z',
  '2026-13-45T99:99:99.999Z',
  '0000-01-01T00:00:00Z',
  '0000-01-01T00:00:00.000Z',
  '0001-01-01T00:00:00+23:59',
  '9999-12-31T23:59:59.999Z',
  '9999-12-31T23:59:59-23:59',
  '+275760-09-13T00:00:00.000Z',
  '2026-01-01T23:59:60Z',
  '2026-01-01T00:00:00+99:99',
  '2026-01-01',
  '-infinity',
  'now',
]

export const numbers = [
  0,
  1,
  -1,
  0.5,
  1e-300,
  1e21,
  1e308,
  -1e308,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 53,
  2 ** 63,
  -(2 ** 63),
  1e20,
  32_768,
]

const texts = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udfff\ud800',
  '\u202e\u200b\ufeff',
  '\u{1f600}'.repeat(50),
  '__proto__',
  'constructor',
  '../../etc/passwd',
  '..%2f..%2f',
  "' or 1=1 --",
  '%',
  '%00',
  '$' + '{workspaceId}',
  '{{x}}',
  '*',
  ':',
  'null',
  'true',
  '-1',
  '99999999999999999999',
  '1e400',
  'NaN',
  '\r\nx: y',
  'https://127.0.0.1/x',
  'http://[::1]:1/',
  'javascript:alert(1)',
  'guild_live_x',
  'exec_00000000-0000-0000-0000-000000000000',
  '00000000-0000-0000-0000-000000000000',
  'urn:uuid:00000000-0000-0000-0000-000000000000',
]

const long = [
  ' ',
  'a',
  '=',
  '-',
  '/',
  '\\',
  '"',
  '[',
  '{"a":',
  '\n',
  '\u00e9',
  '\u{1f600}',
  'a.',
  '](',
  '://a:',
  '-a',
  '1',
  '%a\n',
]

/** Stands for lists nested deeper than anything here could write down; put in when the text is made. */
const deepMarker = '<lists nested 100,000 deep>'
const deepText = '['.repeat(100_000) + ']'.repeat(100_000)

export function toText(value: unknown): string {
  return JSON.stringify(value).replaceAll(JSON.stringify(deepMarker), () => deepText)
}

export function hostileText(random: Random): string {
  if (random.chance(0.15)) return random.pick(long).repeat(random.pick([100, 1000, 10_000, 60_000]))
  return random.chance(0.15) ? random.pick(times) : random.pick(texts)
}

export function hostileValue(random: Random): unknown {
  switch (random.below(9)) {
    case 0:
      return null
    case 1:
      return random.chance(0.5)
    case 2:
      return random.pick(numbers)
    case 3:
      if (random.chance(0.3)) return deepMarker
      return nested(random.pick([2, 60, 130, 900, 3000]), random.chance(0.5))
    case 4:
      return Object.fromEntries(
        Array.from({ length: random.pick([0, 3, 5000]) }, (_, n) => [`k${n}`, n] as const),
      )
    case 5:
      return Array.from({ length: random.pick([0, 1, 60, 5000]) }, () => random.pick(numbers))
    default:
      return hostileText(random)
  }
}

function nested(depth: number, inLists: boolean): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = inLists ? [value] : { a: value }
  return value
}

/** A value that mostly is what the schema asks for, with something else here and there. */
export function valueFor(
  schema: Schema,
  random: Random,
  known: (name: string) => string,
  name = '',
): unknown {
  if (random.chance(0.12)) return hostileValue(random)
  if (schema.anyOf) return valueFor(random.pick(schema.anyOf), random, known, name)
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return random.pick(schema.enum)
  const types = [schema.type ?? 'any'].flat()
  switch (random.pick(types)) {
    case 'object':
      return recordFor(schema, random, known)
    case 'array':
      return Array.from({ length: random.pick([0, 1, 1, 2, 3]) }, () =>
        valueFor(schema.items ?? {}, random, known, name),
      )
    case 'integer':
    case 'number':
      return numberFor(schema, random)
    case 'boolean':
      return random.chance(0.5)
    case 'null':
      return null
    case 'string':
      return textFor(schema, random, known, name)
    default:
      return hostileValue(random)
  }
}

function recordFor(schema: Schema, random: Random, known: (name: string) => string) {
  const record: Record<string, unknown> = {}
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const wanted = schema.required?.includes(name) ? 0.97 : 0.4
    if (random.chance(wanted)) record[name] = valueFor(inner, random, known, name)
  }
  const [further] = Object.values(schema.patternProperties ?? {})
  if (further) record[hostileText(random).slice(0, 200)] = valueFor(further, random, known)
  if (random.chance(0.1)) record[random.pick(texts)] = hostileValue(random)
  return record
}

function numberFor({ minimum = 0, maximum = 100 }: Schema, random: Random): number {
  if (random.chance(0.2)) return random.pick(numbers)
  return minimum + random.below(Math.min(maximum - minimum, 50) + 1)
}

function textFor(schema: Schema, random: Random, known: (name: string) => string, name: string): string {
  if (random.chance(0.15)) return hostileText(random)
  if (schema.format === 'date-time') return random.pick(times)
  if (schema.format === 'uuid' || random.chance(0.6)) return known(name)
  return 'x'.repeat(Math.max(schema.minLength ?? 0, 1))
}
