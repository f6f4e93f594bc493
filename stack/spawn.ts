import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from './folder.ts'
import { findOnPath, type User } from './programs.ts'

export type Command = {
  program: string
  args: string[]
  env: Record<string, string>
  logFile: string
  user?: User | undefined
}

export type Ending = { code: number | null; signal: NodeJS.Signals | null }

export const repositoryRoot = fileURLToPath(new URL('..', import.meta.url))

/** What Node made of the sources the last time: without it every process compiles all of them anew. */
const compiled = join(repositoryRoot, 'node_modules', '.cache', 'node')
const killAfterMs = 2000
let deathSignalWorks: boolean | undefined

/**
 * Nothing of the caller's shell may change how a stack behaves, so only these pass. Temporary files go into the
 * stack's folder and with it: Restate leaves a folder per partition behind at each start.
 */
export function baseEnv(dir: string): Record<string, string> {
  const names = ['PATH', 'HOME', 'LANG', 'TZ']
  const inherited = names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))
  return { ...Object.fromEntries(inherited), TMPDIR: temporaryFolder(dir), NODE_COMPILE_CACHE: compiled }
}

export function spawnLogged(command: Command): ChildProcess {
  const log = openSync(command.logFile, 'a')
  try {
    const [program, args] = withDeathSignal('KILL', command.program, command.args, command.user)
    const viaSetpriv = program !== command.program
    return spawn(program, args, {
      cwd: repositoryRoot,
      env: command.env,
      stdio: ['ignore', log, log],
      // Of its own process group, or Ctrl-C in a terminal would reach every child at once, in no order.
      detached: true,
      ...(command.user && !viaSetpriv ? { uid: command.user.uid, gid: command.user.gid } : {}),
    })
  } finally {
    closeSync(log)
  }
}

/**
 * Wraps a command so that the kernel signals it when this process dies, however it dies. setpriv replaces
 * itself with the program, so the process id stays the program's. Changing the user clears the death signal,
 * hence a second setpriv that sets it as the new user.
 */
export function withDeathSignal(
  signal: 'KILL' | 'TERM',
  program: string,
  args: string[],
  user?: User,
): [program: string, args: string[]] {
  const setpriv = process.platform === 'linux' ? findOnPath('setpriv') : undefined
  if (!setpriv) return [program, args]
  // Busybox has a setpriv without this option.
  deathSignalWorks ??= spawnSync(setpriv, ['--pdeathsig', 'KILL', 'true']).status === 0
  if (!deathSignalWorks) return [program, args]
  const signaled = ['--pdeathsig', signal, '--', program, ...args]
  if (!user) return [setpriv, signaled]
  const asUser = ['--reuid', String(user.uid), '--regid', String(user.gid), '--clear-groups', '--']
  return [setpriv, [...asUser, setpriv, ...signaled]]
}

/** Runs a program that ends by itself. An abort ends it, together with whatever it started. */
export async function runToEnd(command: Command, signal?: AbortSignal): Promise<Ending> {
  signal?.throwIfAborted()
  const child = spawnLogged(command)
  const abort = () => {
    signalGroup(child, 'SIGTERM')
    setTimeout(() => signalGroup(child, 'SIGKILL'), killAfterMs).unref()
  }
  signal?.addEventListener('abort', abort, { once: true })
  try {
    const [code, endSignal] = (await once(child, 'exit')) as [Ending['code'], Ending['signal']]
    signal?.throwIfAborted()
    return { code, signal: endSignal }
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

export function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // Nobody is left in the group.
  }
}
