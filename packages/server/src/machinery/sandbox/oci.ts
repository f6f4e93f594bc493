import { execFile, spawn } from 'node:child_process'
import { chown, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Cgroups } from './cgroup.ts'
import { listSights, type Sight } from './host-view.ts'
import {
  insideUid,
  type Launcher,
  type Lodging,
  listenForTrouble,
  sharedMemoryBytes,
  wardenCommand,
  whileWanted,
} from './launch.ts'
import type { SandboxConfig } from './port.ts'
import { describeFilter, machineOf } from './seccomp.ts'

const execute = promisify(execFile)
const megabyte = 1024 * 1024

const runtimes = {
  runc: { options: [], overhead: { memoryBytes: 64 * megabyte, pids: 2, pidsForEach: 1 } },
  // gVisor's kernel is a process with threads and memory of its own, counted with the skill's, and follows each of the
  // skill's processes with up to 16 tasks. It does the work of the filter, which its versions read differently.
  runsc: {
    options: ['--network=none', '--platform=ptrace'],
    overhead: { memoryBytes: 256 * megabyte, pids: 144, pidsForEach: 16 },
  },
} as const

/**
 * The same sandbox as an OCI bundle: runc (the host's kernel, as bubblewrap) or gVisor's runsc (a kernel of its own in
 * user space, so that a skill does not talk to the host's). Both need a worker that runs as root. The first process
 * ends itself when the worker is gone.
 */
export function createOciRuntime(config: SandboxConfig, kind: 'runc' | 'runsc', cgroups: Cgroups): Launcher {
  const { options, overhead } = runtimes[kind]
  const notes = join(config.directory, kind)
  const root = ['--root', notes]
  const run = (...args: string[]) => execute(kind, [...root, ...args], { timeout: 10_000 })

  return {
    name: kind,
    overhead,
    builderUid: config.uids.first,

    async check() {
      if (process.getuid?.() !== 0)
        throw new Error(`${kind} needs a worker that runs as root; or choose bubblewrap`)
      try {
        await execute(kind, ['--version'])
      } catch (cause) {
        throw new Error(`${kind} could not be started; install it on PATH: ${(cause as Error).message}`, {
          cause,
        })
      }
    },

    async launch(lodging, signal) {
      const bundle = await writeBundle(config, lodging, cgroups.pathOf(lodging.id))
      const pidFile = join(lodging.folder, 'pid')
      const child = spawn(
        kind,
        [...root, ...options, 'run', '--bundle', bundle, '--pid-file', pidFile, lodging.id],
        {
          detached: true,
          cwd: '/',
          env: { PATH: process.env['PATH'] },
          stdio: ['pipe', 'pipe', 'pipe'],
        },
      )
      const trouble = listenForTrouble(child)
      const failed = new Promise<never>((_, reject) => {
        child
          .once('error', reject)
          .once('exit', () => reject(new Error(`${kind} could not start: ${trouble()}`)))
      })
      return {
        child,
        trouble,
        pid: await whileWanted(child, signal, Promise.race([failed, readPid(pidFile, signal)])),
      }
    },

    async forget(id) {
      try {
        await run('delete', '--force', id)
      } catch {
        // Notes that a crash or a full disk has cut short cannot be read; and there is nothing else to be deleted.
        await removeNotes(notes, id)
      }
    },
  }
}

/** runc has a folder for each sandbox, runsc files that begin with its id, which has no underscore. */
async function removeNotes(folder: string, id: string): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  const own = names.filter((name) => name === id || name.startsWith(`${id}_`))
  for (const name of own) await rm(join(folder, name), { recursive: true, force: true })
}

async function readPid(file: string, signal: AbortSignal): Promise<number> {
  while (!signal.aborted) {
    const pid = Number(await readFile(file, 'utf8').catch(() => ''))
    if (pid > 0) return pid
    await delay(5)
  }
  throw new Error('The runtime did not say which process it started')
}

async function writeBundle(config: SandboxConfig, lodging: Lodging, cgroupPath: string): Promise<string> {
  const sights = await listSights(config.readOnlyPaths)
  const bundle = join(lodging.folder, 'bundle')
  const rootfs = join(bundle, 'rootfs')
  await mkdir(rootfs, { recursive: true })
  // The runtime makes the places to mount at, with the rights of the sandbox's own root.
  await chown(rootfs, config.uids.first, config.uids.first)
  for (const sight of sights) if (sight.kind === 'link') await symlink(sight.target, join(rootfs, sight.path))
  const description = describeBundle({
    lodging,
    sights,
    etcFiles: await readdir(lodging.etc),
    firstUid: config.uids.first,
    command: wardenCommand(config),
    cgroupPath,
    arch: process.arch,
  })
  await writeFile(join(bundle, 'config.json'), JSON.stringify(description))
  return bundle
}

interface BundleParts {
  lodging: Lodging
  sights: readonly Sight[]
  etcFiles: readonly string[]
  firstUid: number
  command: readonly string[]
  cgroupPath: string
  arch: string
}

/** The bundle's `config.json`. */
export function describeBundle(parts: BundleParts): Record<string, unknown> {
  const { lodging, sights, etcFiles, firstUid, command, cgroupPath, arch } = parts
  const ids = [
    { containerID: 0, hostID: firstUid, size: 1 },
    { containerID: insideUid, hostID: lodging.uid, size: 1 },
  ]
  return {
    ociVersion: '1.0.2',
    hostname: 'sandbox',
    root: { path: 'rootfs', readonly: true },
    process: {
      terminal: false,
      user: { uid: insideUid, gid: insideUid },
      cwd: '/',
      args: command,
      env: [],
      noNewPrivileges: true,
      capabilities: { bounding: [], effective: [], inheritable: [], permitted: [], ambient: [] },
    },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      memory('/dev', '755', megabyte),
      {
        destination: '/dev/pts',
        type: 'devpts',
        source: 'devpts',
        options: ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620'],
      },
      memory('/dev/shm', '1777', sharedMemoryBytes),
      memory('/tmp', '1777', lodging.limits.tmpBytes),
      memory('/workspace', '755', lodging.limits.workspaceBytes, [`uid=${insideUid}`, `gid=${insideUid}`]),
      ...sights.flatMap((sight) => (sight.kind === 'link' ? [] : [readOnly(sight.path, sight.path)])),
      ...etcFiles.map((name) => readOnly(join(lodging.etc, name), join('/etc', name))),
      readOnly(lodging.skill, '/skill'),
    ],
    linux: {
      cgroupsPath: cgroupPath,
      namespaces: ['user', 'pid', 'network', 'ipc', 'uts', 'mount'].map((type) => ({ type })),
      uidMappings: ids,
      gidMappings: ids,
      seccomp: describeFilter(machineOf(arch)),
      maskedPaths: ['/proc/keys', '/proc/timer_list', '/proc/sched_debug', '/proc/scsi', '/proc/acpi'],
      readonlyPaths: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
    },
  }
}

function memory(destination: string, mode: string, sizeBytes: number, more: readonly string[] = []) {
  const options = ['nosuid', 'nodev', `mode=${mode}`, `size=${sizeBytes}`, ...more]
  return { destination, type: 'tmpfs', source: 'tmpfs', options }
}

function readOnly(source: string, destination: string) {
  return { destination, type: 'bind', source, options: ['rbind', 'ro', 'nosuid', 'nodev'] }
}
