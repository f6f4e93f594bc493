import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import { createCaller } from '../../../../test/support/caller.ts'

export const dist = inject('guildDist')
export const program = join(dist, 'guild.mjs')
/** The same, not built. */
const source = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
export const { baseUrl } = inject('guildStack')
/** People and keys, over the API and not through the program under test. */
export const app = createCaller(baseUrl)

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers whose shape they assert
  json: any
  // biome-ignore lint/suspicious/noExplicitAny: the same
  error: any
}

export interface RunOptions {
  env?: Readonly<Record<string, string>>
  stdin?: string
  cwd?: string
  /** Whether to run the sources instead of what is built of them. */
  fromSource?: boolean
}

export interface Started {
  child: ChildProcess
  stderr: () => string
  stdout: () => string
  ended: Promise<Ran>
}

/** A user of their own: nothing of this machine's reaches the program but the path. */
export function newHome(): string {
  return mkdtempSync(join(tmpdir(), 'guild-home-'))
}

export function environmentOf(
  home: string,
  env: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    LANG: 'C.UTF-8',
    CI: '',
    GUILD_STORAGE: 'file',
    ...env,
  }
}

export function start(home: string, args: readonly string[], options: RunOptions = {}): Started {
  const child = spawn(process.execPath, [options.fromSource ? source : program, ...args], {
    env: environmentOf(home, options.env),
    cwd: options.cwd ?? home,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  child.stdin.on('error', () => {})
  child.stdin.end(options.stdin ?? '')
  const ended = once(child, 'close').then(() => ({
    code: child.exitCode,
    stdout,
    stderr,
    json: parsed(stdout),
    error: parsed(stderr.trim().split('\n').at(-1) ?? '')?.error,
  }))
  return { child, stdout: () => stdout, stderr: () => stderr, ended }
}

export function run(home: string, args: readonly string[], options?: RunOptions): Promise<Ran> {
  return start(home, args, options).ended
}

// biome-ignore lint/suspicious/noExplicitAny: the same
function parsed(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A person, and a home whose environment holds a key of theirs. */
export async function newUser(fields: Record<string, unknown> = {}) {
  const person = await app.newPerson()
  const key = await app.newKey(person, fields)
  const env = { GUILD_BASE_URL: baseUrl, GUILD_API_KEY: key.secret }
  return { person, key, env, home: newHome() }
}

/** Waits for something to be there. */
export async function until<T>(look: () => T | Promise<T>, withinMs = 20_000): Promise<NonNullable<T>> {
  for (const end = Date.now() + withinMs; Date.now() < end; ) {
    const found = await look()
    if (found) return found
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`not so after ${withinMs} ms: ${look}`)
}
