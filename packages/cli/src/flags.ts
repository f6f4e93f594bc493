/** A flag as data: help, completion, pages and parsing all come from it. */
export interface Flag {
  words: string
  /** What stands for its value in help; a switch has none. */
  value?: string
  /** May stand alone; a value then only comes after `=`. */
  optionalValue?: true
  many?: true
  short?: string
  /** The only values it takes. */
  choices?: readonly string[]
}

export interface Argument {
  name: string
  words: string
  optional?: true
  many?: true
  /** What the shell may offer: `skills`, `workflows`, `profiles`, `files`. */
  completes?: Completion
}

export type Completion = 'skills' | 'workflows' | 'runs' | 'executions' | 'profiles' | 'files' | 'commands'
export type Flags = Readonly<Record<string, Flag>>

/** The part of a command that is typed. */
export interface Typed {
  /** Words as typed: `skills install`. */
  name: string
  arguments?: readonly Argument[]
  flags?: Flags
}

export const listFlags: Flags = {
  limit: { value: 'N', words: 'How many to fetch; 30 unless told' },
  all: { words: 'Fetch every page' },
}

export const globalFlags: Flags = {
  profile: { value: 'NAME', words: 'Which stored key to use' },
  'base-url': { value: 'URL', words: 'Address of the deployment' },
  workspace: { value: 'ID', words: 'Act in this workspace; a key must belong to it' },
  json: {
    value: 'FIELDS',
    optionalValue: true,
    words: 'JSON on stdout and nothing else; --json=id,status picks fields',
  },
  get: { value: 'PATH', words: 'Print one value of the answer, raw: --get items.0.id' },
  quiet: { short: 'q', words: 'No talk on stderr' },
  verbose: { short: 'v', words: 'Show requests on stderr, without bodies' },
  color: { value: 'WHEN', words: 'Colours', choices: ['auto', 'always', 'never'] },
  'no-input': { words: 'Never prompt, never open a browser' },
  yes: { short: 'y', words: 'Say yes to local questions; never an approval' },
  ask: {
    value: 'REASON',
    optionalValue: true,
    words: 'Ask a person for a scope that is missing, and wait',
  },
  wait: { value: 'TIME', optionalValue: true, words: 'How long to wait for a person; 10m unless told' },
  timeout: { value: 'TIME', words: 'How long the whole command may take' },
  help: { short: 'h', words: 'Show help' },
  version: { words: 'Show the version' },
}
