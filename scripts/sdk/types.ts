/** What of JSON Schema the contract uses. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly description?: string
}

export type Records = Readonly<Record<string, Schema>>

/** What is sent takes the values we know; what is answered may hold values that a later server knows. */
type Direction = 'sent' | 'answered'

/** Prints schemas as TypeScript, and remembers which records it has named. */
export class TypePrinter {
  readonly #records: Records
  readonly #sent: ReadonlySet<string>
  readonly named = new Set<string>()

  /** `sent` are the records that stand in requests, directly or within others. */
  constructor(records: Records, sent: ReadonlySet<string>) {
    this.#records = records
    this.#sent = sent
  }

  /** The declaration of a named record. */
  record(name: string): string {
    const schema = this.#records[name] as Schema
    const direction = this.#sent.has(name) ? 'sent' : 'answered'
    const comment = doc([schema.description ?? `\`${name}\`, as the API has it.`])
    if (schema.enum) return `${comment}export type ${name} = ${union(schema.enum.map(literal))}\n`
    const [base, more] = schema.allOf ?? []
    if (base?.$ref && more?.properties) {
      return `${comment}export interface ${name} extends ${this.print(base, direction)} ${this.#object(more, direction)}\n`
    }
    if (schema.properties) return `${comment}export interface ${name} ${this.#object(schema, direction)}\n`
    return `${comment}export type ${name} = ${this.print(schema, direction)}\n`
  }

  print(schema: Schema, direction: Direction): string {
    if (schema.$ref) return this.#reference(schema.$ref, direction)
    if (schema.const !== undefined) return literal(schema.const)
    if (schema.enum) return this.#open(union(schema.enum.map(literal)), direction)
    if (schema.anyOf) return union(schema.anyOf.map((one) => this.print(one, direction)))
    if (schema.allOf) return schema.allOf.map((one) => `(${this.print(one, direction)})`).join(' & ')
    const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? [])
    return types.length === 0 ? 'unknown' : union(types.map((type) => this.#typed(type, schema, direction)))
  }

  #typed(type: string, schema: Schema, direction: Direction): string {
    switch (type) {
      case 'array':
        return `(${this.print(schema.items ?? {}, direction)})[]`
      case 'object':
        return this.#object(schema, direction)
      case 'integer':
        return 'number'
      default:
        return type
    }
  }

  #object(schema: Schema, direction: Direction): string {
    const { properties = {}, required = [], additionalProperties, patternProperties = {} } = schema
    const [values = typeof additionalProperties === 'object' ? additionalProperties : undefined] =
      Object.values(patternProperties)
    if (values) return `Record<string, ${this.print(values, direction)}>`
    if (Object.keys(properties).length === 0) return 'Record<string, unknown>'
    const lines = Object.entries(properties).map(([name, property]) => {
      const isRequired = required.includes(name)
      const printed = this.print(property, direction)
      const mayLack = direction === 'sent' && !isRequired && printed !== 'unknown'
      const type = mayLack ? `${printed} | undefined` : printed
      return `${doc([property.description ?? ''])}${propertyName(name)}${isRequired ? '' : '?'}: ${type}`
    })
    if (additionalProperties === true) lines.push('[field: string]: unknown')
    return `{\n${lines.join('\n')}\n}`
  }

  #reference($ref: string, direction: Direction): string {
    const name = nameOf($ref)
    this.named.add(name)
    return this.#records[name]?.enum ? this.#open(name, direction) : name
  }

  #open(type: string, direction: Direction): string {
    if (direction === 'sent') return type
    this.named.add('Open')
    return `Open<${type}>`
  }
}

/** The records that a schema names, and those that these name. */
export function recordsIn(schema: Schema, records: Records, found = new Set<string>()): Set<string> {
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [key, part] of Object.entries(value)) {
      if (key !== '$ref' || typeof part !== 'string') walk(part)
      else if (part.startsWith('#/components/schemas/') && !found.has(nameOf(part))) {
        found.add(nameOf(part))
        walk(records[nameOf(part)])
      }
    }
  }
  walk(schema)
  return found
}

/** Sentences as a doc comment; none at all when there is nothing to say. */
export function doc(sentences: readonly string[]): string {
  const text = sentences
    .filter((one) => one !== '')
    .join('\n\n')
    .replaceAll('*/', '*\\/')
  if (text === '') return ''
  const lines = text.split('\n')
  return lines.length === 1
    ? `/** ${text} */\n`
    : `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */\n`
}

export const nameOf = ($ref: string): string => $ref.slice($ref.lastIndexOf('/') + 1)
const union = (types: readonly string[]): string =>
  types.length === 0 ? 'never' : [...new Set(types)].join(' | ')
const literal = (value: unknown): string => JSON.stringify(value)
const propertyName = (name: string): string => (/^[a-z_$][\w$]*$/i.test(name) ? name : literal(name))
