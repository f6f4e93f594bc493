import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
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
import { assembleFilter, machineOf } from './seccomp.ts'

const execute = promisify(execFile)

/** A shell becomes a member of the group, takes its user and then becomes bubblewrap. */
const enter = 'until [ "$1" = -- ]; do echo $$ >"$1" || exit; shift; done; shift; exec "$@"'

/**
 * bubblewrap: every namespace new, the user mapped to one without rights, no capabilities, the filter of system calls,
 * and nothing of the host but its programs. It ends with the worker (--die-with-parent), however the worker ends.
 */
export function createBubblewrap(config: SandboxConfig): Launcher {
  return {
    name: config.kind,
    overhead: { memoryBytes: 32 * 1024 * 1024, pids: 3, pidsForEach: 1 },
    forget: async () => {},

    async check() {
      try {
        await execute('bwrap', ['--version'])
        if (process.getuid?.() === 0) await execute('setpriv', ['--version'])
      } catch (cause) {
        throw new Error(
          'bubblewrap could not be started; install it (0.8 or newer, and for a worker that is root setpriv of ' +
            `util-linux) on PATH: ${(cause as Error).message}`,
          { cause },
        )
      }
    },

    async launch(lodging, signal) {
      const filter = assembleFilter(machineOf(process.arch))
      const walls = wallArguments(lodging, await listSights(config.readOnlyPaths), await readdir(lodging.etc))
      const command = [...asUser(lodging.uid), 'bwrap', ...walls, '--', ...wardenCommand(config)]
      const child = spawn('/bin/sh', ['-c', enter, 'sandbox', ...lodging.memberFiles, '--', ...command], {
        // A session of its own: an interrupt typed at the worker's terminal lets the worker decide what ends.
        detached: true,
        cwd: '/',
        env: { PATH: process.env['PATH'] },
        stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
      }) as ChildProcessWithoutNullStreams
      const trouble = listenForTrouble(child)
      return { child, trouble, pid: await whileWanted(child, signal, readPid(child, filter, trouble)) }
    },
  }
}

/** Not by `spawn`, because only the worker's own user may put a process into the group. */
function asUser(uid: number | undefined): string[] {
  return uid === undefined ? [] : ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--']
}

function wallArguments(
  { skill, etc, limits }: Lodging,
  sights: readonly Sight[],
  etcFiles: string[],
): string[] {
  const tmpfs = (path: string, mode: string, sizeBytes: number) =>
    ['--perms', mode, '--size', String(sizeBytes), '--tmpfs', path] as const
  return [
    ...['--unshare-all', '--unshare-user', '--disable-userns'],
    ...['--die-with-parent', '--new-session', '--as-pid-1'],
    ...['--uid', String(insideUid), '--gid', String(insideUid), '--cap-drop', 'ALL', '--hostname', 'sandbox'],
    ...['--clearenv', '--seccomp', '3', '--info-fd', '4'],
    ...sights.flatMap((sight) =>
      sight.kind === 'link' ? ['--symlink', sight.target, sight.path] : ['--ro-bind', sight.path, sight.path],
    ),
    ...etcFiles.flatMap((name) => ['--ro-bind', join(etc, name), join('/etc', name)]),
    ...['--proc', '/proc', '--dev', '/dev'],
    ...tmpfs('/dev/shm', '1777', sharedMemoryBytes),
    ...tmpfs('/tmp', '1777', limits.tmpBytes),
    ...tmpfs('/workspace', '0755', limits.workspaceBytes),
    ...['--ro-bind', skill, '/skill'],
    ...['--remount-ro', '/dev', '--remount-ro', '/', '--chdir', '/'],
  ]
}

/** Hands over the filter (descriptor 3) and learns the first process's number (descriptor 4). */
async function readPid(
  child: ChildProcessWithoutNullStreams,
  filter: Uint8Array,
  trouble: () => string,
): Promise<number> {
  const filterPipe = child.stdio[3] as Writable
  const infoPipe = child.stdio.at(4) as Readable
  const closed = new Promise((resolve) => child.once('close', resolve))
  await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject))
  filterPipe.on('error', () => {}).end(filter)
  const pid = /"child-pid"\s*:\s*(\d+)/.exec(await text(infoPipe))?.[1]
  if (pid) return Number(pid)
  await closed
  throw new Error(`bubblewrap could not make a sandbox; allow it user namespaces on this host: ${trouble()}`)
}
