import { usage } from './failure.ts'
import type { Input } from './input.ts'
import type { Environment } from './places.ts'
import { type Config, type Profile, type ProjectFile, readConfig, readProjectFile } from './profile.ts'

/** Set by coding agents in the shells they open. Only prompting depends on it, never the shape of an answer. */
const agentVariables = [
  'AI_AGENT',
  'AGENT',
  'CLAUDECODE',
  'CLAUDE_CODE',
  'CURSOR_AGENT',
  'GEMINI_CLI',
  'CODEX_SANDBOX',
  'CODEX_THREAD_ID',
  'OPENCODE',
  'CLINE_ACTIVE',
  'GOOSE_TERMINAL',
  'AUGMENT_AGENT',
]

/** Everything that flags, environment, project file and profile say; the first of them that speaks is heard. */
export class Settings {
  readonly environment: Environment
  readonly input: Input
  readonly #folder: string
  #config: Config | undefined
  #project: { file: ProjectFile | undefined } | undefined

  constructor(input: Input, environment: Environment, folder: string) {
    this.input = input
    this.environment = environment
    this.#folder = folder
  }

  get config(): Config {
    this.#config ??= readConfig(this.environment)
    return this.#config
  }
  get project(): ProjectFile | undefined {
    this.#project ??= { file: readProjectFile(this.#folder, this.environment) }
    return this.#project.file
  }
  get profileName(): string {
    return this.#nameOf(this.project?.profile)
  }
  #nameOf(project: string | undefined): string {
    const named =
      this.input.text('profile') ?? this.#variable('GUILD_PROFILE') ?? project ?? this.config.current
    if (!/^[\w.-]{1,64}$/.test(named)) {
      throw usage(`A profile's name has letters, digits, dots and hyphens, not "${named}".`)
    }
    return named
  }
  get profile(): Profile | undefined {
    const { profiles } = this.config
    return Object.hasOwn(profiles, this.profileName) ? profiles[this.profileName] : undefined
  }
  /** Never from the project file. */
  get baseUrl(): string | undefined {
    return this.#addressOf(this.project?.profile)
  }
  /**
   * Where a credential of the environment goes. It belongs to no profile, so the project file, which may come with a
   * cloned repository, has no say in it: not even which of the person's own profiles is meant.
   */
  get ownBaseUrl(): string | undefined {
    return this.#addressOf(undefined)
  }
  #addressOf(project: string | undefined): string | undefined {
    const said = this.input.text('base-url') ?? this.#variable('GUILD_BASE_URL')
    if (said !== undefined) return cleanAddress(said)
    const name = this.#nameOf(project)
    const { profiles, people } = this.config
    return [profiles, people].find((known) => Object.hasOwn(known, name))?.[name]?.baseUrl
  }
  get workspace(): string | undefined {
    return this.input.text('workspace') ?? this.#variable('GUILD_WORKSPACE') ?? this.project?.workspace
  }
  get apiKey(): string | undefined {
    return this.#variable('GUILD_API_KEY')
  }
  get authToken(): string | undefined {
    return this.#variable('GUILD_AUTH_TOKEN')
  }
  get verbose(): boolean {
    return this.input.has('verbose') || this.#variable('GUILD_DEBUG') === '1'
  }
  get isCi(): boolean {
    const ci = this.#variable('CI')
    return ci !== undefined && ci !== 'false' && ci !== '0'
  }
  get isAgent(): boolean {
    return agentVariables.some((name) => this.#variable(name) !== undefined)
  }
  /** Prompts need somebody who can answer them. */
  get mayPrompt(): boolean {
    const forbidden = this.input.has('no-input') || this.#variable('GUILD_NO_INPUT') !== undefined
    return !forbidden && !this.isCi && !this.isAgent && this.terminal
  }
  get terminal(): boolean {
    return process.stdin.isTTY === true && process.stderr.isTTY === true
  }
  /** Undefined: do not ask. Else why. */
  get askReason(): string | undefined {
    if (this.input.has('ask')) return this.input.text('ask') ?? ''
    return this.#variable('GUILD_ASK')
  }
  get waitMs(): number {
    return this.input.durationMs('wait') ?? 600_000
  }

  #variable(name: string): string | undefined {
    return this.environment[name] || undefined
  }
}

/** http only on this machine: a key is never sent in the clear over a network. */
export function cleanAddress(text: string): string {
  let url: URL
  try {
    url = new URL(text.includes('://') ? text : `https://${text}`)
  } catch {
    throw usage(`"${text}" is no address.`, 'guild login https://guild.example')
  }
  const here = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && here)) {
    throw usage(`${url.origin} is not https.`, `guild login https://${url.host}`)
  }
  return url.origin
}
