import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Whose processes may be signalled: a stack's own ones, and nobody else's on the machine. */
export interface Owner {
  /** The process of the stack itself. */
  readonly pid: number
}

/** Signals a process of the stack; false when it is gone, an error when it is somebody else's. */
export function signalOwn({ pid: owner }: Owner, pid: number, signal: NodeJS.Signals): boolean {
  const line = ancestorsOf(pid)
  if (line.length === 0) return false
  if (!line.includes(owner) && !standsInGroupOf(owner, pid)) {
    if (isEnding(pid)) return false
    throw new Error(`process ${pid} does not belong to this stack`)
  }
  try {
    process.kill(pid, signal)
    return true
  } catch {
    return false
  }
}

/** From the parent upwards; empty for a process that is gone. */
function ancestorsOf(pid: number): number[] {
  const line: number[] = []
  for (let at = parentOf(pid); at !== undefined && at > 0; at = parentOf(at)) line.push(at)
  return line
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name stands in brackets and may hold anything.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}

/** A process of a sandbox loses its parent when that is ended first; the group that a worker put it into it cannot leave. */
function standsInGroupOf(owner: number, pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(`/guildhall-${owner}/`)
  } catch {
    return false
  }
}

/** On its way out a process gives up its memory, with the words it was started by, before it leaves its group. */
function isEnding(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8') === ''
  } catch {
    return true
  }
}

export function childrenOf(pid: number): number[] {
  return allPids().filter((each) => parentOf(each) === pid)
}

function allPids(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger)
}

export interface LivingSandbox {
  readonly executionId: string
  readonly pids: readonly number[]
}

const cgroupRoot = '/sys/fs/cgroup'

/** Sandboxes with a process in them, by the groups that the stack's workers make. */
export function listSandboxes({ pid }: Owner): LivingSandbox[] {
  const found = new Map<string, Set<number>>()
  for (const tree of [cgroupRoot, ...foldersIn(cgroupRoot)]) {
    for (const group of foldersIn(join(tree, `guildhall-${pid}`))) {
      const [, uuid] = /\/exec-([^/]+)-\d+$/.exec(group) ?? []
      const pids = processesOf(group)
      if (uuid === undefined || pids.length === 0) continue
      const known = found.get(`exec_${uuid}`) ?? new Set()
      for (const each of pids) known.add(each)
      found.set(`exec_${uuid}`, known)
    }
  }
  return [...found].map(([executionId, pids]) => ({ executionId, pids: [...pids] }))
}

/** A process of another namespace is written as 0. */
function processesOf(group: string): number[] {
  try {
    const text = readFileSync(join(group, 'cgroup.procs'), 'utf8')
    return text.split('\n').map(Number).filter(Boolean)
  } catch {
    return []
  }
}

function foldersIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name))
}

/**
 * What should not be there once all is quiet: processes of sandboxes, and evaluators that no worker of the stack is the
 * parent of any more. `since` keeps what other stacks of the machine left earlier out of it.
 */
export function listOrphans(owner: Owner, before: ReadonlySet<number>): string[] {
  const sandboxes = listSandboxes(owner).map(
    ({ executionId, pids }) => `the sandbox of ${executionId} still has the processes ${pids.join(', ')}`,
  )
  const evaluators = evaluatorPids().filter((pid) => !before.has(pid) && parentOf(pid) === 1)
  return [...sandboxes, ...evaluators.map((pid) => `the evaluator ${pid} has no worker`)]
}

/** Of every stack on this machine; whoever looks for orphans asks once before. */
export function evaluatorPids(): number[] {
  return allPids().filter((pid) => commandOf(pid).includes('tools/evaluator'))
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
