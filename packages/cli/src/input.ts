import { parseArgs } from 'node:util'
import { usage } from './failure.ts'
import { type Argument, type Flag, type Flags, globalFlags, type Typed } from './flags.ts'
import { readDuration } from './output/duration.ts'
import { nearest } from './suggest.ts'

/** What was typed after the command's own words. A name that the table does not know is a mistake of ours. */
export class Input {
  readonly #flags: Flags
  readonly #values: ReadonlyMap<string, readonly (string | true)[]>
  readonly #arguments: ReadonlyMap<string, readonly string[]>

  constructor(
    flags: Flags,
    values: ReadonlyMap<string, readonly (string | true)[]>,
    given: ReadonlyMap<string, readonly string[]>,
  ) {
    this.#flags = flags
    this.#values = values
    this.#arguments = given
  }

  has(flag: string): boolean {
    return this.#valuesOf(flag).length > 0
  }
  /** The last one given; undefined where it stands alone or is absent. */
  text(flag: string): string | undefined {
    const value = this.#valuesOf(flag).at(-1)
    return typeof value === 'string' ? value : undefined
  }
  texts(flag: string): string[] {
    return this.#valuesOf(flag).filter((value) => typeof value === 'string')
  }
  /** `A,B` and repeated flags alike. */
  words(flag: string): string[] {
    return this.texts(flag)
      .flatMap((text) => text.split(','))
      .map((text) => text.trim())
      .filter((text) => text !== '')
  }
  number(flag: string): number | undefined {
    const text = this.text(flag)
    if (text === undefined) return undefined
    const value = Number(text)
    if (text.trim() === '' || !Number.isFinite(value) || value < 0) {
      throw usage(`--${flag} takes a number, not "${text}".`)
    }
    return value
  }
  durationMs(flag: string): number | undefined {
    const text = this.text(flag)
    return text === undefined ? undefined : readDuration(text, `--${flag}`)
  }

  argument(name: string): string {
    const [value] = this.rest(name)
    if (value === undefined) throw usage(`${name} is missing.`)
    return value
  }
  optional(name: string): string | undefined {
    return this.rest(name)[0]
  }
  rest(name: string): readonly string[] {
    return this.#arguments.get(name) ?? []
  }

  #valuesOf(flag: string): readonly (string | true)[] {
    if (!Object.hasOwn(this.#flags, flag)) throw new Error(`The table has no flag --${flag} for this command`)
    return this.#values.get(flag) ?? []
  }
}

/** The leading words of a line without its flags: enough to find the command. */
export function leadingWords(args: readonly string[]): string[] {
  const { tokens } = parseArgs({
    args: [...args],
    options: parserOptions(globalFlags),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const words: string[] = []
  for (const token of tokens) {
    if (token.kind === 'option-terminator') break
    if (token.kind === 'positional') words.push(token.value)
  }
  return words
}

/** Only the global flags, for a line whose command is not known. */
export function readGlobals(args: readonly string[]): Input {
  return read(args, { ...globalFlags }, undefined)
}

export function readInput(args: readonly string[], command: Typed): Input {
  return read(args, { ...globalFlags, ...command.flags }, command)
}

function read(args: readonly string[], flags: Flags, command: Typed | undefined): Input {
  const { tokens } = parseArgs({
    args: [...args],
    options: parserOptions(flags),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const values = new Map<string, (string | true)[]>()
  const positionals: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const flag = flags[token.name]
    if (!flag || !Object.hasOwn(flags, token.name)) {
      if (command) throw unknownFlag(token.rawName, flags, command)
      continue
    }
    values.set(token.name, [...(values.get(token.name) ?? []), checked(token, flag)])
  }
  const given = command
    ? namedArguments(positionals.slice(command.name.split(' ').length), command)
    : new Map()
  return new Input(flags, values, given)
}

interface OptionToken {
  name: string
  value?: string | undefined
  inlineValue?: boolean | undefined
}

function checked(token: OptionToken, flag: Flag): string | true {
  const { name, value, inlineValue } = token
  if (!flag.value) {
    if (value !== undefined) throw usage(`--${name} takes no value.`)
    return true
  }
  if (value === undefined && flag.optionalValue) return true
  // What looks like the next flag is one: its own value was forgotten.
  const forgotten = value === undefined || (!inlineValue && value.length > 1 && value.startsWith('-'))
  if (forgotten) throw usage(`--${name} needs a value: --${name}=${flag.value}`)
  if (flag.choices && !flag.choices.includes(value)) {
    throw usage(`--${name} takes ${flag.choices.join(', ')}, not "${value}".`)
  }
  return value
}

function namedArguments(positionals: readonly string[], command: Typed): Map<string, readonly string[]> {
  const given = new Map<string, readonly string[]>()
  const left = [...positionals]
  for (const argument of command.arguments ?? []) {
    const taken = argument.many ? left.splice(0) : left.splice(0, 1)
    if (taken.length === 0 && !argument.optional) {
      throw usage(`${argument.name} is missing: ${usageLine(command)}`, `guild help ${command.name}`)
    }
    given.set(argument.name, taken)
  }
  const [extra] = left
  if (extra !== undefined) {
    throw usage(`"${extra}" is one word too many: ${usageLine(command)}`, `guild help ${command.name}`)
  }
  return given
}

export function usageLine(command: Typed): string {
  const flags = Object.keys(command.flags ?? {}).length > 0 ? ' [flags]' : ''
  return ['guild', command.name, ...(command.arguments ?? []).map(argumentText)].join(' ') + flags
}

function argumentText({ name, optional, many }: Argument): string {
  const text = many ? `${name}…` : name
  return optional ? `[${text}]` : text
}

function unknownFlag(typed: string, flags: Flags, command: Typed) {
  const near = nearest(
    typed,
    Object.keys(flags).map((name) => `--${name}`),
  )
  const hint = near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : ''
  return usage(`guild ${command.name} has no flag ${typed}.${hint}`, `guild help ${command.name}`)
}

function parserOptions(flags: Flags) {
  return Object.fromEntries(
    Object.entries(flags).map(([name, { value, optionalValue, short }]) => [
      name,
      {
        type: value && !optionalValue ? ('string' as const) : ('boolean' as const),
        ...(short ? { short } : {}),
      },
    ]),
  )
}
