import { spawn } from 'node:child_process'
import { isIP, isIPv6 } from 'node:net'
import type { CheckedDestination } from '#platform/outbound.ts'

/** What one git process and its children may use; the kernel ends whoever goes further. */
const limits = { memoryBytes: 384 * 1024 * 1024, fileBytes: 50_000_000, cpuSeconds: 20 }
const lowestBytesPerSecond = 1000
const lowestForSeconds = 10

/**
 * `ulimit` counts memory in KiB and files in blocks of 512 bytes. With the signal ignored, a write past the limit is
 * an error that git reports, instead of an end without a word.
 */
const limited = [
  "trap '' XFSZ",
  `ulimit -v ${limits.memoryBytes / 1024}`,
  `ulimit -f ${Math.floor(limits.fileBytes / 512)}`,
  `ulimit -t ${limits.cpuSeconds}`,
  'exec git "$@"',
].join(' && ')

/**
 * Nothing is ever checked out, so attributes, filters, hooks, links and submodules have no occasion to act; the
 * settings say so once more. One pack is kept as it comes instead of being unpacked, so that the limit on a file is
 * the limit on the whole fetch.
 */
const hardened = [
  'core.hooksPath=/dev/null',
  'core.symlinks=false',
  'core.fsmonitor=false',
  'core.bigFileThreshold=1m',
  'credential.helper=',
  'fetch.recurseSubmodules=false',
  'fetch.unpackLimit=1',
  'gc.auto=0',
  'maintenance.auto=false',
  'pack.threads=1',
  'submodule.recurse=false',
  'transfer.bundleURI=false',
  'transfer.fsckObjects=true',
]

/** Settings under which git reaches this destination and nothing else. */
function networkSettings(
  { host, port, url, addresses, exempt }: CheckedDestination,
  caFile?: string,
): string[] {
  const pinned = addresses.map((address) => (isIPv6(address) ? `[${address}]` : address)).join(',')
  return [
    'http.followRedirects=false',
    'http.proxy=',
    'http.sslVerify=true',
    `http.lowSpeedLimit=${lowestBytesPerSecond}`,
    `http.lowSpeedTime=${lowestForSeconds}`,
    ...(isIP(host) ? [] : [`http.curloptResolve=${host}:${port}:${pinned}`]),
    ...(exempt && caFile && url.protocol === 'https:' ? [`http.sslCAInfo=${caFile}`] : []),
  ]
}

/** `too-large`: a limit ended it. `ended`: the signal did. `failed`: git says why in `stderr`, in English. */
export class GitFailure extends Error {
  readonly reason: 'too-large' | 'ended' | 'failed'
  readonly stderr: string

  constructor(reason: GitFailure['reason'], stderr = '') {
    super(`git: ${reason} ${stderr}`)
    this.reason = reason
    this.stderr = stderr
  }
}

export interface GitFolder {
  /** A folder of this fetch alone; it is also where git finds its home, empty. */
  folder: string
  signal: AbortSignal
}

interface GitCall {
  settings?: readonly string[]
  protocol?: string
  input?: string
  maxOutputBytes?: number
}

/** Runs git in a process group of its own, with an environment of our making, and ends the group with the call. */
async function git(
  { folder, signal }: GitFolder,
  args: readonly string[],
  call: GitCall = {},
): Promise<Buffer> {
  signal.throwIfAborted()
  const settings = [...hardened, ...(call.settings ?? [])].flatMap((setting) => ['-c', setting])
  const child = spawn('sh', ['-c', limited, 'git', `--git-dir=${folder}`, ...settings, ...args], {
    cwd: folder,
    detached: true,
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      LC_ALL: 'C',
      GIT_ALLOW_PROTOCOL: call.protocol ?? 'none',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_TERMINAL_PROMPT: '0',
    },
  })
  let failure: GitFailure['reason'] | undefined
  const end = (reason: GitFailure['reason']) => {
    failure ??= reason
    endGroup(child.pid)
  }
  const onAbort = () => end('ended')
  signal.addEventListener('abort', onAbort, { once: true })
  const output: Buffer[] = []
  let size = 0
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > (call.maxOutputBytes ?? 4096)) end('too-large')
    else output.push(chunk)
  })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString('latin1')).slice(-4096)
  })
  // It may end before it has read everything; how it ended tells enough.
  child.stdin.on('error', () => {})
  child.stdin.end(call.input ?? '')
  // Helpers of a git that was ended by a limit may still be there, and would hold its output open.
  child.on('exit', () => endGroup(child.pid))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  }).finally(() => signal.removeEventListener('abort', onAbort))
  if (failure) throw new GitFailure(failure, stderr)
  if (code !== 0)
    throw new GitFailure(overLimit.test(stderr) || code === null ? 'too-large' : 'failed', stderr)
  return Buffer.concat(output)
}

/** What git says when the system refuses it more: time, a file's size, memory. */
const overLimit = /died of signal (?:9|24)|File too large|Out of memory|out of memory|Cannot allocate memory/

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // The group is gone already.
  }
}

/** Older ones take `http.curloptResolve` for a setting of somebody else and resolve the name themselves. */
async function requirePinningGit(at: GitFolder): Promise<void> {
  const said = await git(at, ['version']).then(String, (error) => {
    if (error instanceof GitFailure && error.reason === 'failed') return ''
    throw error
  })
  const [, major = 0, minor = 0] = /(?<!\d)(\d+)\.(\d+)/.exec(said)?.map(Number) ?? []
  if (major < 2 || (major === 2 && minor < 37)) {
    throw new Error(`Fetching needs git 2.37 or newer; this is ${said.trim() || 'none'}`)
  }
}

/** Brings one commit, without history, into the folder and tells its hash. */
export async function fetchCommit(
  at: GitFolder,
  destination: CheckedDestination,
  ref: string,
  caFile: string | undefined,
): Promise<string> {
  await requirePinningGit(at)
  await git(at, ['init', '--quiet', '--bare', '--template='])
  await git(
    at,
    ['fetch', '--quiet', '--depth=1', '--no-tags', '--', destination.url.href, `+${ref}:refs/fetched`],
    {
      settings: networkSettings(destination, caFile),
      protocol: destination.exempt ? 'https:http' : 'https',
    },
  )
  return (await git(at, ['rev-parse', '--verify', 'refs/fetched^{commit}'])).toString().trim()
}

/** The list of everything below a folder of a commit, as `git ls-tree -z -l` writes it. */
export function listTree(
  at: GitFolder,
  commit: string,
  path: string,
  maxOutputBytes: number,
): Promise<Buffer> {
  return git(at, ['ls-tree', '-r', '-z', '-l', `${commit}:${path}`], { maxOutputBytes })
}

/** The contents of blobs whose sizes are known, in the order given. */
export async function readBlobs(
  at: GitFolder,
  blobs: readonly { hash: string; sizeBytes: number }[],
): Promise<Buffer[]> {
  const heads = blobs.map(({ hash, sizeBytes }) => `${hash} blob ${sizeBytes}\n`)
  const expected = blobs.reduce((sum, { sizeBytes }, i) => sum + (heads[i]?.length ?? 0) + sizeBytes + 1, 0)
  const input = blobs.map(({ hash }) => `${hash}\n`).join('')
  const output = await git(at, ['cat-file', '--batch'], { input, maxOutputBytes: expected })
  let offset = 0
  return blobs.map(({ sizeBytes }, i) => {
    const start = offset + (heads[i]?.length ?? 0)
    if (output.toString('latin1', offset, start) !== heads[i]) throw new GitFailure('failed', 'odd blob')
    offset = start + sizeBytes + 1
    return output.subarray(start, start + sizeBytes)
  })
}
