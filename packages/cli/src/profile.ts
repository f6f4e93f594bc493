import { closeSync, fstatSync, constants as open, openSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { changingPrivate, readPrivate, writePrivate } from './credentials/private-files.ts'
import { exit } from './exit-codes.ts'
import { Failure } from './failure.ts'
import { configFolder, type Environment, homeFolder } from './places.ts'

export type Storage = 'keyring' | 'file'

/** What is known of a stored key. No secret stands here. */
export interface Profile {
  baseUrl: string
  workspace: { id: string; name: string | null } | null
  keyId: number | null
  keyPrefix: string | null
  label: string | null
  storage: Storage
  pairedAt: string
}

export interface Config {
  version: 1
  current: string
  profiles: Record<string, Profile>
  /** Sessions of people that are kept in the keyring, by profile. */
  people: Record<string, { baseUrl: string; expiresAt: string }>
  settings: Record<string, string>
}

/** Beside somebody's files. Never an address: a cloned repository must not be able to redirect a key. */
export interface ProjectFile {
  path: string
  profile?: string
  workspace?: string
  maxCost?: number
  ignored: readonly string[]
}

const empty: Config = { version: 1, current: 'default', profiles: {}, people: {}, settings: {} }
const configPath = (environment: Environment) => join(configFolder(environment), 'config.json')

export function readConfig(environment: Environment): Config {
  const path = configPath(environment)
  const text = readPrivate(path, () => {})
  if (text === undefined) return structuredClone(empty)
  try {
    const read: Partial<Config> = JSON.parse(text)
    return {
      version: 1,
      current: read.current ?? 'default',
      profiles: { ...read.profiles },
      people: { ...read.people },
      settings: { ...read.settings },
    }
  } catch (cause) {
    throw new Failure({
      exitCode: exit.notSignedIn,
      message: `${path} is not readable as JSON.`,
      next: [`mv ${path} ${path}.broken && guild login`],
      cause,
    })
  }
}

export function changeConfig(environment: Environment, change: (config: Config) => void): void {
  const path = configPath(environment)
  changingPrivate(path, () => {
    const config = readConfig(environment)
    change(config)
    writePrivate(path, `${JSON.stringify(config, null, 2)}\n`)
  })
}

/** The nearest `.guild.json` between here and the home folder. */
export function readProjectFile(folder: string, environment: Environment): ProjectFile | undefined {
  const home = resolve(homeFolder(environment))
  for (let at = resolve(folder); ; at = dirname(at)) {
    const found = readProjectFileAt(join(at, '.guild.json'))
    if (found) return found
    if (at === home || at === dirname(at)) return undefined
  }
}

function readProjectFileAt(path: string): ProjectFile | undefined {
  const text = plainText(path)
  if (text === undefined) return undefined
  const read = parsedObject(text, path)
  const defaults = isObject(read['defaults']) ? read['defaults'] : {}
  const maxCost = defaults['maxCost']
  return {
    path,
    ...(typeof read['profile'] === 'string' ? { profile: read['profile'] } : {}),
    ...(typeof read['workspace'] === 'string' ? { workspace: read['workspace'] } : {}),
    ...(typeof maxCost === 'number' ? { maxCost } : {}),
    ignored: Object.keys(read).filter(
      (key) => !['profile', 'workspace', 'defaults', '$schema'].includes(key),
    ),
  }
}

const mostProjectBytes = 65_536

/**
 * It comes with whatever was cloned, and is read by every command there, also at TAB. So it is no link, which could
 * lead to a device without an end, and no pipe, at which opening would wait.
 */
function plainText(path: string): string | undefined {
  let file: number
  try {
    file = openSync(path, open.O_RDONLY | (open.O_NOFOLLOW ?? 0) | (open.O_NONBLOCK ?? 0))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ELOOP') throw notPlain(path)
    return undefined
  }
  try {
    const found = fstatSync(file)
    if (found.isDirectory()) return undefined
    if (!found.isFile() || found.size > mostProjectBytes) throw notPlain(path)
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

function notPlain(path: string): Failure {
  return new Failure({
    exitCode: exit.usage,
    message: `${path} is no plain file of at most ${mostProjectBytes} bytes, so it is not read.`,
    next: [`ls -ld ${path}`, `rm ${path}`],
  })
}

function parsedObject(text: string, path: string): Record<string, unknown> {
  try {
    const read: unknown = JSON.parse(text)
    if (isObject(read)) return read
  } catch {
    // Told below, as for anything else that is no object.
  }
  throw new Failure({
    exitCode: exit.usage,
    message: `${path} is no JSON object.`,
    next: [`cat ${path}`, 'remove it, or write {"profile": "default"}'],
  })
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
