import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** What a whole sandbox may use, its first process and its files in memory included. */
interface Ceilings {
  memoryBytes: number
  pids: number
}

interface Usage {
  cpuSeconds: number
  /** How many processes the kernel has ended because memory ran out. */
  memoryKills: number
}

/** A sandbox's group of processes, which none of them can leave. */
export interface Cgroup {
  /** Makes the group and sets its ceilings; throws with what to do when this host does not let it. */
  create(ceilings: Ceilings): Promise<void>
  /** Where a process writes its number to be in it, with all that it starts from then on. */
  memberFiles(): Promise<string[]>
  usage(): Promise<Usage>
  /** Ends every process in it and removes it. True when the kernel let it go, which it does only when it is empty. */
  end(withinMs: number): Promise<boolean>
}

/** Where the kernel shows the groups, by version; `pathOf` is a group's place inside that. */
export interface Cgroups {
  pathOf(id: string): string
  group(id: string): Cgroup
}

interface Layout {
  /** Version 1 has one tree for each kind of limit. */
  trees: readonly string[]
  /** Trees that hold no limit of ours, but where an OCI runtime makes the group too. */
  otherTrees: readonly string[]
  settings(ceilings: Ceilings): readonly (readonly [tree: string, file: string, value: number])[]
  usage(folderIn: (tree: string) => string): Promise<Usage>
  /** Makes limits available below the parent, where that has to be asked for. */
  prepare(parent: string): Promise<void>
}

export function createCgroups(parent: string, mounts = readMounts): Cgroups {
  let found: Promise<Layout> | undefined
  const layout = () => {
    found ??= mounts().then(chooseLayout)
    return found
  }
  const pathOf = (id: string) => join(parent, id)

  const prepare = async () => {
    const { trees, prepare } = await layout()
    for (const tree of trees) await mkdir(join(tree, parent), { recursive: true })
    await prepare(parent)
  }

  return {
    pathOf,

    group(id) {
      const foldersIn = (trees: readonly string[]) => trees.map((tree) => join(tree, pathOf(id)))
      const folders = async () => foldersIn((await layout()).trees)
      return {
        async create(ceilings) {
          try {
            await prepare()
            for (const folder of await folders()) await mkdir(folder)
            for (const [tree, file, value] of (await layout()).settings(ceilings)) {
              await writeFile(join(tree, pathOf(id), file), String(value))
            }
          } catch (cause) {
            throw new Error(
              `Memory and processes of skills cannot be limited: ${(cause as Error).message}. Run the worker as ` +
                'root, or give it a delegated cgroup (memory and pids) and name that as the parent',
              { cause },
            )
          }
        },
        memberFiles: async () => (await folders()).map((folder) => join(folder, 'cgroup.procs')),
        usage: async () => (await layout()).usage((tree) => join(tree, pathOf(id))),
        async end(withinMs) {
          const found = await layout().catch(() => undefined)
          return !found || endGroup(foldersIn([...found.trees, ...found.otherTrees]), withinMs)
        },
      }
    },
  }
}

/** For a deployment that has said it wants no limits. */
export function createNoCgroups(): Cgroups {
  const nothing = async () => {}
  return {
    pathOf: (id) => id,
    group: () => ({
      create: nothing,
      memberFiles: async () => [],
      usage: async () => ({ cpuSeconds: 0, memoryKills: 0 }),
      end: async () => true,
    }),
  }
}

async function endGroup(folders: readonly string[], withinMs: number): Promise<boolean> {
  const deadlineMs = performance.now() + withinMs
  for (;;) {
    for (const pid of new Set((await Promise.all(folders.map(listProcesses))).flat())) endProcess(pid)
    if ((await Promise.all(folders.map(removeEmpty))).every(Boolean)) return true
    if (performance.now() > deadlineMs) return false
    await delay(2)
  }
}

async function listProcesses(folder: string): Promise<number[]> {
  const text = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '')
  // The kernel writes 0 for a process of another process namespace, and to a signal 0 would be the worker's own group.
  return text
    .split('\n')
    .map(Number)
    .filter((pid) => pid > 0)
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function removeEmpty(folder: string): Promise<boolean> {
  try {
    await rmdir(folder)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}

interface Mount {
  path: string
  type: string
  options: readonly string[]
}

async function readMounts(): Promise<Mount[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n')
  return lines.flatMap((line) => {
    const [place, file] = line.split(' - ')
    const path = place?.split(' ')[4]
    const [type, , options] = file?.split(' ') ?? []
    return path && type ? [{ path, type, options: options?.split(',') ?? [] }] : []
  })
}

async function chooseLayout(mounts: readonly Mount[]): Promise<Layout> {
  for (const { path } of mounts.filter((mount) => mount.type === 'cgroup2')) {
    const controllers = (await readFile(join(path, 'cgroup.controllers'), 'utf8')).trim().split(' ')
    if (controllers.includes('memory') && controllers.includes('pids')) return unified(path)
  }
  const treeOf = (controller: string) => {
    const tree = mounts.find((mount) => mount.type === 'cgroup' && mount.options.includes(controller))
    if (!tree) throw new Error(`no cgroup mount has the ${controller} controller`)
    return tree.path
  }
  const all = mounts.filter((mount) => /^cgroup2?$/.test(mount.type)).map((mount) => mount.path)
  return separate(treeOf('memory'), treeOf('pids'), treeOf('cpuacct'), all)
}

/** cgroup v2: one tree. */
function unified(tree: string): Layout {
  return {
    trees: [tree],
    otherTrees: [],
    settings: ({ memoryBytes, pids }) => [
      [tree, 'memory.max', memoryBytes],
      [tree, 'memory.swap.max', 0],
      [tree, 'pids.max', pids],
    ],
    async usage(folderIn) {
      const folder = folderIn(tree)
      const [cpu, memory] = await Promise.all([
        readFile(join(folder, 'cpu.stat'), 'utf8'),
        readFile(join(folder, 'memory.events'), 'utf8'),
      ])
      return { cpuSeconds: field(cpu, 'usage_usec') / 1e6, memoryKills: field(memory, 'oom_kill') }
    },
    async prepare(parent) {
      const names = parent.split('/').filter(Boolean)
      for (let depth = 0; depth <= names.length; depth++) {
        const file = join(tree, ...names.slice(0, depth), 'cgroup.subtree_control')
        const given = (await readFile(file, 'utf8')).trim().split(' ')
        if (given.includes('memory') && given.includes('pids')) continue
        await writeFile(file, '+memory +pids')
      }
    },
  }
}

/** cgroup v1: a tree for each controller. */
function separate(memoryTree: string, pidsTree: string, cpuTree: string, all: readonly string[]): Layout {
  const trees = [...new Set([memoryTree, pidsTree, cpuTree])]
  return {
    trees,
    otherTrees: all.filter((tree) => !trees.includes(tree)),
    settings: ({ memoryBytes, pids }) => [
      [memoryTree, 'memory.limit_in_bytes', memoryBytes],
      [memoryTree, 'memory.swappiness', 0],
      [pidsTree, 'pids.max', pids],
    ],
    async usage(folderIn) {
      const [cpu, memory] = await Promise.all([
        readFile(join(folderIn(cpuTree), 'cpuacct.usage'), 'utf8'),
        readFile(join(folderIn(memoryTree), 'memory.oom_control'), 'utf8'),
      ])
      return { cpuSeconds: Number(cpu) / 1e9, memoryKills: field(memory, 'oom_kill') }
    },
    prepare: async () => {},
  }
}

function field(text: string, name: string): number {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `))
  return Number(line?.slice(name.length + 1) ?? 0)
}
