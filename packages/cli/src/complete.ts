import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from './command.ts'
import { commands, findCommand } from './commands.ts'
import type { ExitCode } from './exit-codes.ts'
import { type Completion, globalFlags } from './flags.ts'
import { readGlobals } from './input.ts'
import { neutral } from './output/safe-text.ts'
import { stdout } from './output/streams.ts'
import { cacheFolder, type Environment } from './places.ts'
import { Settings } from './settings.ts'
import { topics } from './topics.ts'

const cacheMs = 300_000
const answerWithinMs = 1500

type Offer = readonly [word: string, words: string]

/** What could stand for the last of these words: one a line, with a tab before what it means. */
export async function complete(words: readonly string[], environment: Environment): Promise<ExitCode> {
  const partial = words.at(-1) ?? ''
  const offers = await offersFor(words.slice(0, -1), partial, environment).catch(() => [])
  for (const [word, meaning] of offers) {
    if (isPlain(word) && word.startsWith(partial)) stdout.write(`${word}\t${neutral(String(meaning))}\n`)
  }
  return 0
}

/** bash puts a word on the line as it is, and runs what is in it: so nothing is offered that a shell would read. */
function isPlain(word: unknown): boolean {
  return typeof word === 'string' && /^[\w.:/@-]+$/.test(word)
}

async function offersFor(
  before: readonly string[],
  partial: string,
  environment: Environment,
): Promise<Offer[]> {
  const typed = before.filter((word) => !word.startsWith('-'))
  const command = findCommand(typed)
  if (partial.startsWith('-')) {
    const flags = { ...command?.flags, ...globalFlags }
    return Object.entries(flags).map(([name, flag]) => [`--${name}`, flag.words])
  }
  if (!command) return nextWords(typed)
  const argument = argumentAt(command, typed.length - command.name.split(' ').length)
  if (argument === 'commands') return [...nextWords(typed.slice(1)), ...topicOffers()]
  return argument ? dynamic(argument, environment) : []
}

/** The words that continue a command's name. */
function nextWords(typed: readonly string[]): Offer[] {
  const start = typed.length === 0 ? '' : `${typed.join(' ')} `
  const found = new Map<string, string>()
  for (const { name, summary } of commands) {
    if (!name.startsWith(start)) continue
    const [word = ''] = name.slice(start.length).split(' ')
    found.set(word, name === start + word ? summary : `${start}${word} …`)
  }
  return [...found]
}

function topicOffers(): Offer[] {
  return Object.entries(topics).map(([name, { summary }]) => [name, summary])
}

function argumentAt(command: Command, index: number): Completion | undefined {
  const list = command.arguments ?? []
  const argument = list[index] ?? (list.at(-1)?.many ? list.at(-1) : undefined)
  return argument?.completes
}

async function dynamic(kind: Completion, environment: Environment): Promise<Offer[]> {
  const settings = new Settings(readGlobals([]), environment, process.cwd())
  if (kind === 'profiles')
    return Object.entries(settings.config.profiles).map(([name, { baseUrl }]) => [name, baseUrl])
  if (kind === 'files' || kind === 'commands') return []
  const path = join(cacheFolder(environment), `${kind}-${settings.profileName}.json`)
  return cached(path) ?? remembered(path, await fetched(kind, settings))
}

function cached(path: string): Offer[] | undefined {
  try {
    if (Date.now() - statSync(path).mtimeMs > cacheMs) return undefined
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

function remembered(path: string, offers: Offer[]): Offer[] {
  mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 })
  writeFileSync(path, JSON.stringify(offers), { mode: 0o600 })
  return offers
}

async function fetched(kind: Completion, settings: Settings): Promise<Offer[]> {
  const { quietClient } = await import('./client.ts')
  const client = await quietClient(settings)
  const options = { signal: AbortSignal.timeout(answerWithinMs), maxRetries: 0 }
  if (kind === 'skills')
    return (await client.skills.list({ limit: 100 }, options)).items.map(({ slug, name }) => [slug, name])
  if (kind === 'workflows')
    return (await client.workflows.list(options)).map(({ slug, name }) => [slug, name ?? ''])
  if (kind === 'runs') {
    return (await client.runs.list({ limit: 20 }, options)).items.map(({ runId, workflowId }) => [
      runId,
      workflowId,
    ])
  }
  return (await client.executions.list({ limit: 20 }, options)).items.map(({ executionId, status }) => [
    executionId,
    status,
  ])
}
