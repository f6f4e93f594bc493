import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { SandboxConfig, SandboxLimits } from '#machinery/sandbox/sandbox.ts'
import { patienceFor } from '../../../../../test/support/sizes.ts'

export const kinds = ['bubblewrap', 'runc', 'runsc'] as const

const megabyte = 1024 * 1024

export const smallLimits: SandboxLimits = {
  memoryBytes: 128 * megabyte,
  pids: 32,
  cpuSeconds: 3,
  workspaceBytes: 8 * megabyte,
  tmpBytes: 4 * megabyte,
}

export function makeConfig(kind: SandboxConfig['kind']): SandboxConfig {
  const directory = mkdtempSync(join(tmpdir(), 'guildhall-sandbox-'))
  chmodSync(directory, 0o711)
  return {
    kind,
    directory,
    cgroupParent: `/guildhall-test-${process.pid}`,
    uids: { first: 700_000, count: 1000 },
    python: '/usr/bin/python3',
    readOnlyPaths: [],
  }
}

const cgroupRoot = '/sys/fs/cgroup'

/** Every folder of the cgroup trees with that path, whichever version they are. */
export function cgroupFolders(path: string): string[] {
  const trees = ['.', ...readdirSync(cgroupRoot)]
  return trees.map((tree) => join(cgroupRoot, tree, path)).filter((folder) => listed(folder).length > 0)
}

/** The processes that the kernel counts to a sandbox. */
export function processesOf(config: SandboxConfig, id: string): Set<string> {
  const folders = cgroupFolders(join(config.cgroupParent, id))
  return new Set(folders.flatMap((folder) => read(join(folder, 'cgroup.procs')).split('\n').filter(Boolean)))
}

export function removeConfig(config: SandboxConfig): void {
  rmSync(config.directory, { recursive: true, force: true })
  for (const folder of cgroupFolders(config.cgroupParent)) rmdirSync(folder)
}

/** What is dead and only waits to be collected by the machine's first process runs no more. */
export function isRunning(pid: string): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** A worker in a process of its own, to be killed or to be somebody else. */
export function startWorker(
  config: SandboxConfig,
  task: string[],
  more: { uid?: number; path?: string } = {},
): ChildProcess {
  const program = new URL('worker-program.ts', import.meta.url).pathname
  return spawn(process.execPath, [program, JSON.stringify(config), ...task], {
    cwd: '/',
    env: { PATH: more.path ?? process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(more.uid === undefined ? {} : { uid: more.uid, gid: more.uid }),
  })
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** Processes over several sessions that ignore SIGTERM. */
export const stubbornTree = `
trap '' TERM
for i in 1 2 3; do setsid bash -c "trap '' TERM; sleep 1000 & sleep 1000 & wait" & done
wait`

export async function waitUntil(isTrue: () => boolean | Promise<boolean>, withinMs: number): Promise<number> {
  const startedMs = performance.now()
  const mostMs = patienceFor(withinMs)
  while (!(await isTrue())) {
    if (performance.now() - startedMs > mostMs) throw new Error(`not so after ${mostMs} ms: ${isTrue}`)
    await delay(5)
  }
  return performance.now() - startedMs
}
