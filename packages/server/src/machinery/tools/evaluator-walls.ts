import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { listSights } from '#machinery/sandbox/sandbox.ts'

const program = fileURLToPath(new URL('./evaluator/program.mjs', import.meta.url))
const find = createRequire(import.meta.url)
const libraries = [dirname(find.resolve('jsonata/package.json')), dirname(dirname(find.resolve('re2js')))]

const heapMib = 128
/**
 * All memory that a process may write to, in KiB and whatever it is for; the heap is a part of it. The engine sets half
 * a gigabyte aside for code when it starts and hardly uses it, so an expression can fill about 300 MiB.
 */
const dataKib = 900_000
const nobody = '65534'

/**
 * The command that starts a Node program apart from everything: no network, no environment, of the host's files its
 * programs and the given folders, no rights, and an end with this process, however that comes. The kernel sees to it
 * and to the ceilings of memory and processor time. Node's own permissions, which know files and processes but no
 * network, are a wall inside that one.
 */
export async function walledCommand(
  cpuSeconds: number,
  script = program,
  folders: readonly string[] = [dirname(program), ...libraries],
): Promise<[string, ...string[]]> {
  const walls = [
    ...['--unshare-all', '--unshare-user', '--disable-userns', '--die-with-parent', '--new-session'],
    ...['--uid', nobody, '--gid', nobody, '--cap-drop', 'ALL', '--clearenv'],
    ...(await listSights([process.execPath, ...folders])).flatMap((sight) =>
      sight.kind === 'link' ? ['--symlink', sight.target, sight.path] : ['--ro-bind', sight.path, sight.path],
    ),
    ...['--remount-ro', '/', '--chdir', '/'],
  ]
  const node = [
    process.execPath,
    '--permission',
    ...folders.map((folder) => `--allow-fs-read=${folder}/*`),
    '--disallow-code-generation-from-strings',
    '--disable-proto=delete',
    '--no-addons',
    `--max-old-space-size=${heapMib}`,
    // More threads of the engine would use processor time that is not the expression's.
    '--v8-pool-size=1',
    script,
  ]
  const ceilings = [`ulimit -d ${dataKib}`, `ulimit -t ${cpuSeconds}`, 'ulimit -c 0', 'exec bwrap "$@"']
  return ['sh', '-c', ceilings.join(' && '), 'bwrap', ...walls, '--', ...node]
}
