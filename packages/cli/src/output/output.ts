import { styleText } from 'node:util'
import type { Failure } from '../failure.ts'
import type { Input } from '../input.ts'
import { type Column, cut, table, tabSeparated } from './columns.ts'
import { fieldsOf, rawText, valueAt } from './pick.ts'
import { ascii, dim, neutralJson, neutralLines, red, type Shown, say, yellow } from './safe-text.ts'
import { type Stream, stderr, stdout } from './streams.ts'

export interface OutputOptions {
  stdout: Stream
  stderr: Stream
  /** Undefined without --json; the fields to pick, none for all. */
  json: readonly string[] | undefined
  get: string | undefined
  quiet: boolean
  color: 'auto' | 'always' | 'never'
  environment: Readonly<Record<string, string | undefined>>
}

export interface Page<Item> {
  items: readonly Item[]
  /** There are others that were not fetched. */
  more?: boolean
}

/**
 * stdout is data, stderr is talk. A command says what it found once (`document`, `list`, or `event` by `event`), and
 * this decides how it looks: for people on a terminal, as plain lines in a pipe, as JSON with --json.
 */
export class Output {
  readonly #options: OutputOptions
  readonly #secrets = new Set<string>()
  #liveLine = false
  #lastProgress = ''

  constructor(options: OutputOptions) {
    this.#options = options
  }

  get isJson(): boolean {
    return this.#options.json !== undefined
  }
  /** Somebody looks at stdout, and asked for no JSON. */
  get forPeople(): boolean {
    return !this.isJson && this.#options.get === undefined && this.stdoutIsTerminal
  }
  get stdoutIsTerminal(): boolean {
    return forcedColumns(this.#options.environment) !== undefined || this.#options.stdout.isTTY === true
  }
  get stderrIsTerminal(): boolean {
    return forcedColumns(this.#options.environment) !== undefined || this.#options.stderr.isTTY === true
  }
  get width(): number {
    return forcedColumns(this.#options.environment) ?? this.#options.stdout.columns ?? 80
  }
  /** Whether signs beyond ASCII can be shown. */
  get unicode(): boolean {
    const { LC_ALL, LC_CTYPE, LANG, TERM } = this.#options.environment
    const locale = LC_ALL || LC_CTYPE || LANG || ''
    return TERM !== 'dumb' && (process.platform !== 'linux' || /utf-?8/i.test(locale))
  }

  /** Whatever a server or a library says of it, this never stands on stderr. */
  hide(secret: string): void {
    this.#secrets.add(secret)
  }

  /** For whoever looks on: never data. */
  talk(line: Shown): void {
    if (this.#options.quiet) return
    this.#clearProgress()
    this.#tell(`${this.#painted(line, this.#options.stderr)}\n`)
  }
  done(line: Shown): void {
    this.talk(say`${this.sign('✓', 'ok')} ${line}`)
  }
  warn(line: Shown): void {
    this.talk(say`${yellow('!')} ${line}`)
  }

  /** One line that is redrawn on a terminal, and a line of its own elsewhere. */
  progress(line: Shown): void {
    if (this.#options.quiet) return
    if (!this.stderrIsTerminal || this.#options.environment['TERM'] === 'dumb') {
      const text = line.plain.replace(/, [\d:]+ left$/, '')
      if (text !== this.#lastProgress) this.#tell(`${text}\n`)
      this.#lastProgress = text
      return
    }
    const narrow = cut(line, Math.max(8, this.width - 1))
    this.#tell(`\r\x1b[K${this.#painted(narrow, this.#options.stderr)}`)
    this.#liveLine = true
  }
  endProgress(): void {
    this.#clearProgress()
  }

  /** The one thing that a command found. */
  document(value: unknown, draw: (() => readonly Shown[]) | string): void {
    if (this.#options.get !== undefined) this.#raw(rawText(valueAt(value, this.#options.get)))
    else if (this.isJson) this.#json(fieldsOf(value, this.#options.json ?? []), this.stdoutIsTerminal)
    else if (typeof draw === 'string') this.#raw(draw)
    else for (const line of draw()) this.line(line)
  }

  list<Item>(page: Page<Item>, columns: readonly Column<Item>[], whenEmpty: Shown): void {
    const whole = { items: page.items, more: page.more ?? false }
    if (this.isJson || this.#options.get !== undefined) {
      this.document(whole, '')
      return
    }
    if (!this.forPeople) {
      for (const line of tabSeparated(page.items, columns)) this.#write(line)
      return
    }
    if (page.items.length === 0) {
      this.talk(whenEmpty)
      return
    }
    for (const line of table(page.items, columns, this.width)) this.line(line)
    if (page.more) this.talk(dim('There is more: --all fetches everything, --limit N a larger page.'))
  }

  /** One of many: a line of JSON as it came, or what `draw` makes of it. */
  event(value: unknown, draw?: () => readonly Shown[]): void {
    if (this.isJson) this.#json(value, false)
    else for (const line of draw?.() ?? []) this.line(line)
  }

  /** What a stream came to, for pipes and --get: whoever looks on has seen it. */
  result(value: unknown, text: string): void {
    if (this.#options.get !== undefined) this.#raw(rawText(valueAt(value, this.#options.get)))
    else if (!this.forPeople && text !== '') this.#raw(text)
  }

  /** A line for people or pipes; nothing with --json. */
  line(line: Shown): void {
    if (this.isJson) return
    this.#clearProgress()
    this.#write(this.#painted(line, this.#options.stdout))
  }

  /** Text as it is, without a break of ours: neutralised on a terminal, untouched in a pipe. */
  piece(text: string): void {
    if (this.isJson) return
    this.#clearProgress()
    this.#show(this.stdoutIsTerminal ? neutralLines(text) : text)
  }

  failure(failure: Failure): void {
    this.#clearProgress()
    if (this.isJson) {
      const text = JSON.stringify(failure)
      this.#tell(`${this.stderrIsTerminal ? neutralJson(text) : text}\n`)
      return
    }
    const facts = [
      failure.code,
      failure.requestId && `request ${failure.requestId}`,
      `exit ${failure.exitCode}`,
    ]
    const lines = [
      say`${red(this.sign('✗', 'error:'))} ${failure.message}`,
      ...failure.next.map((command, index) => say`  ${index === 0 ? 'Next:' : '  or:'}  ${command}`),
      dim(`  ${facts.filter(Boolean).join(' · ')}`),
    ]
    for (const line of lines) {
      this.#tell(`${this.#painted(line, this.#options.stderr)}\n`)
    }
    if (this.#options.environment['GITHUB_ACTIONS']) {
      this.#tell(`::error::${escapedForActions(failure.message)}\n`)
    }
  }

  sign(unicode: string, ascii: string): string {
    return this.unicode ? unicode : ascii
  }

  #raw(text: string): void {
    this.#clearProgress()
    this.#write(this.stdoutIsTerminal ? neutralLines(text) : text)
  }
  #json(value: unknown, indented: boolean): void {
    this.#clearProgress()
    const text = indented ? JSON.stringify(value, null, 2) : JSON.stringify(value)
    this.#write(this.stdoutIsTerminal ? neutralJson(text, !this.unicode) : text)
  }
  #write(text: string): void {
    this.#show(`${text}\n`)
  }
  #show(text: string): void {
    this.#options.stdout.write(this.stdoutIsTerminal && !this.unicode ? ascii(text) : text)
  }
  #tell(text: string): void {
    let told = this.unicode ? text : ascii(text)
    for (const secret of this.#secrets) told = told.replaceAll(secret, '[hidden]')
    this.#options.stderr.write(told)
  }
  #clearProgress(): void {
    if (!this.#liveLine) return
    this.#liveLine = false
    this.#options.stderr.write('\r\x1b[K')
  }
  #painted(line: Shown, stream: Stream): string {
    if (!this.#colored(stream)) return line.plain
    return line.spans
      .map(({ text, style }) => (style ? styleText(style, text, { validateStream: false }) : text))
      .join('')
  }
  #colored(stream: Stream): boolean {
    const { color, environment } = this.#options
    if (color !== 'auto') return color === 'always'
    if (environment['NO_COLOR'] || environment['TERM'] === 'dumb') return false
    if (environment['FORCE_COLOR'] && environment['FORCE_COLOR'] !== '0') return true
    return forcedColumns(environment) !== undefined || stream.isTTY === true
  }
}

/** As the flags and the environment want it. */
export function outputOf(input: Input, environment: OutputOptions['environment']): Output {
  const color = input.text('color')
  return new Output({
    stdout,
    stderr,
    json: input.has('json') ? input.words('json') : undefined,
    get: input.text('get'),
    quiet: input.has('quiet'),
    color: color === 'always' || color === 'never' ? color : 'auto',
    environment,
  })
}

function forcedColumns(environment: OutputOptions['environment']): number | undefined {
  const columns = Number(environment['GUILD_FORCE_TTY'])
  return Number.isInteger(columns) && columns > 0 ? columns : undefined
}

function escapedForActions(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}
