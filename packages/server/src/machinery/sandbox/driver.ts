import { randomUUID } from 'node:crypto'
import { chmod, chown, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Cgroup, Cgroups } from './cgroup.ts'
import { insideUid, type Launched, type Launcher, sharedMemoryBytes } from './launch.ts'
import { openLine } from './line.ts'
import { openSandbox } from './open-sandbox.ts'
import {
  type Sandbox,
  type SandboxConfig,
  type SandboxDriver,
  SandboxError,
  type SandboxSpec,
  type Swept,
} from './port.ts'
import { checkId, isId, uidOf } from './sandbox-id.ts'

const launchedWithinMs = 15_000
const readyWithinMs = 15_000
const goneWithinMs = 2000
/** Sandboxes in which a worker tries, when it starts, whether it can keep skills apart. */
const trialPrefix = 'check-'
const trialLastsMs = 60_000

const baseEnvironment = {
  HOME: '/tmp',
  LANG: 'C.UTF-8',
  PATH: '/usr/local/bin:/usr/bin:/bin',
  TMPDIR: '/tmp',
  USER: 'skill',
}

/**
 * A sandbox is a folder on the host (the skill's files), a group (its ceilings) and a first process behind walls. Its
 * workspace is memory that only the walls hold. So when the processes are gone all is gone but the folder and the empty
 * group, and a crash of the worker leaves nothing but those two for `sweep`.
 */
export function createDriver(config: SandboxConfig, launcher: Launcher, cgroups: Cgroups): SandboxDriver {
  const lodgings = join(config.directory, 'sandboxes')

  /** Makes the folder, and thereby takes the id. */
  async function claim(id: string): Promise<string> {
    const folder = join(lodgings, checkId(id))
    await mkdir(lodgings, { recursive: true })
    // Its user has to pass through; what is inside is closed to other users by each sandbox's own folder.
    await chmod(lodgings, 0o711)
    try {
      await mkdir(folder, { mode: 0o750 })
      return folder
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
      throw new SandboxError('refused', `Sandbox ${id} exists already`, { cause })
    }
  }

  async function start(
    spec: SandboxSpec,
    folder: string,
    group: Cgroup,
    signal: AbortSignal,
  ): Promise<Sandbox> {
    const uid = process.getuid?.() === 0 ? uidOf(spec.id, config.uids) : undefined
    const [skill, etc] = [join(folder, 'skill'), join(folder, 'etc')]
    if (uid !== undefined) await chown(folder, 0, launcher.builderUid ?? uid)
    await chmod(folder, 0o750)
    await writeTree(skill, spec.skillFiles)
    await writeTree(etc, accountFiles)
    const { memoryBytes, workspaceBytes, tmpBytes, pids, cpuSeconds } = spec.limits
    await group.create({
      memoryBytes:
        memoryBytes + workspaceBytes + tmpBytes + sharedMemoryBytes + launcher.overhead.memoryBytes,
      pids: pids * launcher.overhead.pidsForEach + launcher.overhead.pids,
    })
    const memberFiles = await group.memberFiles()
    const lodging = { id: spec.id, folder, skill, etc, uid, memberFiles, limits: spec.limits }
    const launched = await launcher.launch(lodging, signal)
    try {
      const line = await connect(launched)
      return openSandbox({
        id: spec.id,
        line,
        group,
        env: { ...baseEnvironment, ...spec.env },
        cpuSeconds,
        end: () => remove(spec.id, group, launched),
      })
    } catch (error) {
      await endProcesses(launched)
      throw error
    }
  }

  async function remove(id: string, group: Cgroup, launched?: Launched): Promise<boolean> {
    const ended = launched ? await endProcesses(launched) : true
    const empty = await group.end(goneWithinMs)
    if (!ended || !empty) return false
    await launcher.forget(id)
    await rm(join(lodgings, id), { recursive: true, force: true })
    return true
  }

  async function create(spec: SandboxSpec, signal?: AbortSignal): Promise<Sandbox> {
    const patience = AbortSignal.any([AbortSignal.timeout(launchedWithinMs), ...(signal ? [signal] : [])])
    const folder = await claim(spec.id)
    const group = cgroups.group(spec.id)
    try {
      return await start(spec, folder, group, patience)
    } catch (error) {
      if (await remove(spec.id, group)) throw error
      throw new SandboxError('left', 'A sandbox was not started, and not ended either', { cause: error })
    }
  }

  /** A trial has no other owner than the worker that makes it, which may have died meanwhile. */
  async function isYoung(id: string): Promise<boolean> {
    const folder = await stat(join(lodgings, id)).catch(() => undefined)
    return folder !== undefined && Date.now() - folder.mtimeMs < trialLastsMs
  }

  return {
    name: launcher.name,
    create,

    async check() {
      await launcher.check()
      const megabyte = 1024 * 1024
      const limits = {
        memoryBytes: 64 * megabyte,
        pids: 16,
        cpuSeconds: 10,
        workspaceBytes: megabyte,
        tmpBytes: megabyte,
      }
      const sandbox = await create({ id: `${trialPrefix}${randomUUID()}`, skillFiles: [], limits, env: {} })
      try {
        const result = await sandbox.run({ shell: 'id -u', timeoutMs: 10_000, maxOutputBytes: 1000 })
        if (result.stdout.trim() !== String(insideUid)) {
          throw new Error(`A trial of the ${launcher.name} sandbox failed: ${result.stderr || result.stdout}`)
        }
      } finally {
        await sandbox.destroy()
      }
    },

    async sweep(isAlive) {
      const swept: Swept = { cleared: [], left: [] }
      for (const id of (await readdir(lodgings).catch(() => [])).filter(isId)) {
        try {
          const isUsed = id.startsWith(trialPrefix) ? await isYoung(id) : await isAlive(id)
          if (isUsed) continue
          if (!(await remove(id, cgroups.group(id)))) throw new Error('Its processes have not ended yet')
          swept.cleared.push(id)
        } catch (cause) {
          swept.left.push({ id, cause })
        }
      }
      return swept
    },
  }
}

async function connect(launched: Launched) {
  const line = openLine(launched.child)
  const timer = setTimeout(() => line.lose('The sandbox did not become ready'), readyWithinMs)
  try {
    await line.ask({
      head: { op: 'hello' },
      maxBodyBytes: 0,
      take: ({ head }) => head['ready'] === true || undefined,
    })
    return line
  } catch (cause) {
    throw new Error(`A sandbox could not be started: ${launched.trouble() || (cause as Error).message}`, {
      cause,
    })
  } finally {
    clearTimeout(timer)
  }
}

/** True when the outer process was seen to exit, which it does after the first process, and so after all of them. */
async function endProcesses({ child, pid }: Launched): Promise<boolean> {
  const hasExited = () => child.exitCode !== null || child.signalCode !== null
  if (hasExited()) return true
  const exited = new Promise<boolean>((resolve) => child.once('exit', () => resolve(true)))
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
  let forced = false
  const patience = setTimeout(() => {
    forced = true
    child.kill('SIGKILL')
  }, goneWithinMs)
  try {
    return (await exited) && !forced
  } finally {
    clearTimeout(patience)
  }
}

const accountFiles = [
  { path: 'passwd', text: `skill:x:${insideUid}:${insideUid}:skill:/tmp:/bin/bash\n` },
  { path: 'group', text: `skill:x:${insideUid}:\n` },
].map(({ path, text }) => ({ path, bytes: Buffer.from(text), executable: false }))

/** Modes are set apart from making, since the worker's umask would take from them. */
async function writeTree(root: string, files: SandboxSpec['skillFiles']): Promise<void> {
  await mkdir(root)
  await chmod(root, 0o755)
  const made = new Set<string>()
  for (const { path, bytes, executable } of files) {
    const names = path.split('/')
    if (names.some((name) => name === '' || name === '.' || name === '..') || path.includes('\0')) {
      throw new SandboxError('refused', `"${path}" cannot be a file of a skill`)
    }
    for (const folder of names.slice(0, -1).map((_, depth) => names.slice(0, depth + 1).join('/'))) {
      if (made.has(folder)) continue
      await mkdir(join(root, folder))
      await chmod(join(root, folder), 0o755)
      made.add(folder)
    }
    await writeFile(join(root, path), bytes, { flag: 'wx' })
    await chmod(join(root, path), executable ? 0o755 : 0o644)
  }
}
