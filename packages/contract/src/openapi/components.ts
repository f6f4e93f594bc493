import type { TObject, TSchema } from 'typebox'
import { baseOf, shapeOf } from '../shapes.ts'
import { recordExamples } from './record-examples.ts'

const sections = ['schemas', 'responses', 'parameters', 'headers'] as const
type Section = (typeof sections)[number]

/**
 * The named pieces of the document, each printed once and referred to from everywhere else. A schema is named by its
 * title. The schemas themselves stay whole: whoever compiles one of them needs no other.
 */
export class Components {
  readonly #sections = Object.fromEntries(sections.map((section) => [section, new Map()])) as Record<
    Section,
    Map<string, object>
  >

  readonly #before: ReadonlyMap<string, number>
  readonly #owners = new Map<string, string>()
  /** How often what could be shared was printed. */
  readonly seen = new Map<string, number>()

  /** With what was seen the first time, the second time knows what is worth a name. */
  constructor(before: ReadonlyMap<string, number> = new Map()) {
    this.#before = before
  }

  /** A TypeBox schema is JSON Schema and stands in the document as it is, but for its named parts. */
  print(given: TSchema): object {
    const schema = shapeOf(given) ?? given
    const { title, ...rest } = schema as { title?: string }
    if (title === undefined) return this.#parts(schema)
    const base = baseOf(title)
    const shape = base ? this.#addition(schema as TObject, base) : this.#parts(rest)
    const example = recordExamples[title]
    return this.refer('schemas', title, example === undefined ? shape : { ...shape, examples: [example] })
  }

  #addition(schema: TObject, base: TObject): object {
    // Also what both have and this one says more of.
    const isNew = (name: string) => base.properties[name] !== schema.properties[name]
    const properties = Object.fromEntries(Object.entries(schema.properties).filter(([name]) => isNew(name)))
    const required = (schema.required as string[]).filter(isNew)
    const more = { type: 'object', ...(required.length > 0 && { required }), properties }
    return { allOf: [this.print(base), this.#parts(more)] }
  }

  /** Keeps a piece under its name, and gives what stands in its place. */
  refer(section: Section, name: string, piece: object): { $ref: string } {
    const known = this.#sections[section].get(name)
    if (known && JSON.stringify(known) !== JSON.stringify(piece)) {
      throw new Error(`two different ${section} are called ${name}`)
    }
    this.#sections[section].set(name, piece)
    return { $ref: `#/components/${section}/${name}` }
  }

  /** The same for what is named only where it stands in several places. The first of a name has it. */
  share(section: Section, name: string, piece: object): object {
    const text = `${section} ${name} ${JSON.stringify(piece)}`
    this.seen.set(text, (this.seen.get(text) ?? 0) + 1)
    const owner = this.#owners.get(`${section} ${name}`) ?? text
    if (owner !== text || (this.#before.get(text) ?? 0) < 2) return piece
    this.#owners.set(`${section} ${name}`, text)
    return this.refer(section, name, piece)
  }

  /** Every piece by its name, in the order of names, so that a new route moves nothing else. */
  all(): Record<Section, Record<string, object>> {
    const sorted = ([a]: [string, object], [b]: [string, object]) => (a < b ? -1 : 1)
    const pieces = sections.map((section) => [
      section,
      Object.fromEntries([...this.#sections[section]].sort(sorted)),
    ])
    return Object.fromEntries(pieces)
  }

  #parts(schema: object): object {
    return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, this.#part(key, value)]))
  }

  #part(key: string, value: unknown): unknown {
    if (typeof value !== 'object' || value === null || notSchemas.has(key)) return value
    if (Array.isArray(value)) return value.map((one) => this.#part('', one))
    if (!byName.has(key)) return this.print(value as TSchema)
    const properties = Object.entries(value).map(([name, property]) => [name, this.print(property)])
    return Object.fromEntries(properties)
  }
}

/** Keywords whose values are no schemas. */
const notSchemas: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'x-clamped'])
/** Keywords whose values are schemas by name. The names are anybody's: a property may be called title. */
const byName: ReadonlySet<string> = new Set(['properties', 'patternProperties'])
