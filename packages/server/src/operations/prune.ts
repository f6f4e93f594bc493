/** Compiles a schema into a test of values, for the branches of a union. */
export type CompileCheck = (schema: object) => (value: unknown) => unknown

/** What the schema describes of a value; all else is named to `ignored`. The value itself is never changed. */
export type Prune = (value: unknown, ignored: Ignored) => unknown

/**
 * Makes the function that keeps of a value what a schema describes, at every depth that the schema speaks of. What it
 * leaves open (no type, a record of anything, `additionalProperties`) is the caller's own and not looked into; so the
 * walk is never deeper than the schema nor, where a schema has names, wider, whatever the value is. Meant for values that
 * the schema accepts.
 */
export function compilePrune(
  schema: object | undefined,
  compileCheck: CompileCheck,
  { namedAfter = '' }: { namedAfter?: string } = {},
): Prune {
  const shape = schema ? toShape(schema, compileCheck) : nothing
  return (value, ignored) => keep([shape], value, namedAfter, ignored)
}

const namesShown = 40
const nameLength = 64
const textLength = 1000

/** Names fields for a header: printable ASCII, and never many, whatever somebody sends. */
export class Ignored {
  #text = ''
  #named = 0
  #more = 0

  /** Whether any more are only counted. */
  get isFull(): boolean {
    return this.#more > 0 || this.#named === namesShown
  }

  add(path: string): void {
    const grown = this.#named === 0 ? path : `${this.#text}, ${path}`
    if (this.isFull || grown.length > textLength) {
      this.#more++
      return
    }
    this.#text = grown
    this.#named++
  }

  count(unnamed: number): void {
    this.#more += unnamed
  }

  /** Undefined when nothing was ignored. What is too much to name is counted: `a, b, +12`. */
  get text(): string | undefined {
    if (this.#more > 0) return this.#named === 0 ? `+${this.#more}` : `${this.#text}, +${this.#more}`
    return this.#named === 0 ? undefined : this.#text
  }
}

/** What of a schema says which fields there may be. Maps, because a field may be called `constructor`. */
interface Shape {
  readonly isOpen: boolean
  readonly fields: ReadonlyMap<string, Shape>
  readonly patterns: readonly { readonly names: RegExp; readonly shape: Shape }[]
  readonly others: Shape | undefined
  readonly items: Shape | undefined
  /** Of these, whichever the value fits. */
  readonly branches: readonly { readonly fits: (value: unknown) => unknown; readonly shape: Shape }[]
  /** All of these hold as well. */
  readonly parts: readonly Shape[]
}

const nothing: Shape = {
  isOpen: false,
  fields: new Map(),
  patterns: [],
  others: undefined,
  items: undefined,
  branches: [],
  parts: [],
}
const open: Shape = { ...nothing, isOpen: true }

interface SchemaWords {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  properties?: Record<string, SchemaWords>
  patternProperties?: Record<string, SchemaWords>
  additionalProperties?: boolean | SchemaWords
  items?: SchemaWords
  anyOf?: SchemaWords[]
  oneOf?: SchemaWords[]
  allOf?: SchemaWords[]
}

const structural = [
  'properties',
  'patternProperties',
  'additionalProperties',
  'items',
  'anyOf',
  'oneOf',
  'allOf',
] as const
/** Each can describe fields in a way that is not read here: a schema that uses one must not pass for closed. */
const unread = [
  '$ref',
  '$dynamicRef',
  'prefixItems',
  'additionalItems',
  'contains',
  'dependentSchemas',
  'if',
  'unevaluatedProperties',
]
const anyName = '^.*$'

function toShape(schema: SchemaWords, compileCheck: CompileCheck): Shape {
  const strange = unread.find((word) => Object.hasOwn(schema, word))
  if (strange !== undefined) throw new Error(`A schema of a request uses ${strange}, which is not read`)
  const compile = (inner: SchemaWords) => toShape(inner, compileCheck)
  if (!structural.some((word) => Object.hasOwn(schema, word))) return isScalar(schema) ? nothing : open
  const { properties = {}, patternProperties = {}, additionalProperties = false, items } = schema
  const values = patternProperties[anyName] && compile(patternProperties[anyName])
  if (values?.isOpen) return open
  const isBare = Object.keys(properties).length === 0 && Object.keys(patternProperties).length === 0
  if (additionalProperties === true && isBare) return open
  return {
    isOpen: false,
    fields: new Map(Object.entries(properties).map(([name, inner]) => [name, compile(inner)])),
    patterns: Object.entries(patternProperties).map(([names, inner]) => ({
      names: new RegExp(names, 'u'),
      shape: compile(inner),
    })),
    others: othersOf(additionalProperties, compile),
    items: items && compile(items),
    branches: [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].map((branch) => ({
      fits: compileCheck(branch),
      shape: compile(branch),
    })),
    parts: (schema.allOf ?? []).map(compile),
  }
}

function othersOf(
  additional: boolean | SchemaWords,
  compile: (schema: SchemaWords) => Shape,
): Shape | undefined {
  if (typeof additional === 'boolean') return additional ? open : undefined
  return compile(additional)
}

function isScalar({ type, ...words }: SchemaWords): boolean {
  if (Object.hasOwn(words, 'const') || Object.hasOwn(words, 'enum')) return true
  return type !== undefined && [type].flat().every((name) => name !== 'object' && name !== 'array')
}

/** A field is known when any of the shapes that hold for the value knows it. */
function keep(shapes: readonly Shape[], value: unknown, path: string, ignored: Ignored): unknown {
  if (typeof value !== 'object' || value === null) return value
  const held = shapes.flatMap((shape) => holding(shape, value))
  if (held.some(({ isOpen }) => isOpen)) return value
  return Array.isArray(value) ? keepItems(held, value, path, ignored) : keepFields(held, value, path, ignored)
}

function holding(shape: Shape, value: unknown): Shape[] {
  if (shape.branches.length === 0 && shape.parts.length === 0) return [shape]
  const fitting = shape.branches.filter(({ fits }) => fits(value)).map((branch) => branch.shape)
  return [shape, ...[...fitting, ...shape.parts].flatMap((inner) => holding(inner, value))]
}

function keepItems(held: readonly Shape[], list: readonly unknown[], path: string, ignored: Ignored) {
  const shapes = held.flatMap(({ items }) => items ?? [])
  if (shapes.length === 0) return []
  let changed = false
  const kept = list.map((item, index) => {
    const inner = keep(shapes, item, `${path}${index}.`, ignored)
    changed ||= inner !== item
    return inner
  })
  return changed ? kept : list
}

function keepFields(held: readonly Shape[], sent: object, path: string, ignored: Ignored): object {
  const known = new Map<string, Shape[]>()
  for (const name of namesToLookAt(held, sent)) {
    const shapes = held.flatMap((shape) => shapesOf(shape, name))
    if (shapes.length > 0) known.set(name, shapes)
  }
  const unknown = Object.keys(sent).length - known.size
  if (unknown > 0) nameUnknown(sent, known, unknown, path, ignored)
  let changed = unknown > 0
  const kept: [string, unknown][] = []
  for (const [name, shapes] of known) {
    const value = (sent as Record<string, unknown>)[name]
    const inner = keep(shapes, value, `${path}${printable(name)}.`, ignored)
    changed ||= inner !== value
    kept.push([name, inner])
  }
  // Entries are defined, not assigned: a name like __proto__ stays a name.
  return changed ? Object.fromEntries(kept) : sent
}

/** Where all names are known beforehand, those: what was sent may have many more. */
function namesToLookAt(held: readonly Shape[], sent: object): Iterable<string> {
  if (held.some(({ patterns, others }) => patterns.length > 0 || others)) return Object.keys(sent)
  const names = new Set<string>()
  for (const { fields } of held)
    for (const name of fields.keys()) if (Object.hasOwn(sent, name)) names.add(name)
  return names
}

function nameUnknown(
  sent: object,
  known: ReadonlyMap<string, unknown>,
  unknown: number,
  path: string,
  ignored: Ignored,
): void {
  let left = unknown
  for (const name in sent) {
    if (ignored.isFull || left === 0) break
    if (known.has(name)) continue
    ignored.add(path + printable(name))
    left--
  }
  ignored.count(left)
}

function shapesOf({ fields, patterns, others }: Shape, name: string): Shape[] {
  const known = fields.get(name)
  const matching = patterns.filter(({ names }) => names.test(name)).map(({ shape }) => shape)
  if (known) matching.push(known)
  return matching.length === 0 && others ? [others] : matching
}

const plain = /^[\w$-]{1,64}$/

function printable(name: string): string {
  if (plain.test(name)) return name
  return name === '' ? '""' : encodeURIComponent(name.slice(0, nameLength).toWellFormed())
}
