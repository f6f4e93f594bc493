export interface SandboxLimits {
  /** For processes. A sandbox's files are in memory too, with ceilings of their own below. */
  memoryBytes: number
  pids: number
  /** For each command with all it starts. */
  cpuSeconds: number
  workspaceBytes: number
  tmpBytes: number
}

export interface Command {
  /** What `bash -c` gets, in /workspace. */
  shell: string
  stdin?: Uint8Array
  timeoutMs: number
  /** For standard output and for standard error, each. */
  maxOutputBytes: number
  signal?: AbortSignal
}

export interface CommandResult {
  exitCode: number | null
  signal: string | null
  stdout: string
  stderr: string
  truncated: boolean
  /** Ended because `timeoutMs` or `cpuSeconds` were used up. */
  timedOut: boolean
  outOfMemory: boolean
}

export interface SandboxFile {
  path: string
  bytes: Uint8Array
  executable: boolean
}

interface Collected {
  files: SandboxFile[]
  /** Some of what is not among them, and how many more there are at least. */
  leftOut: string[]
  others: number
}

export interface ListedFile {
  path: string
  sizeBytes: number
  kind: 'file' | 'directory' | 'other'
}

/**
 * Paths are absolute below /workspace or /skill, or relative to /workspace. Links are never followed: what is behind
 * one does not exist here. Calls are taken one after the other.
 */
export interface Sandbox {
  readonly id: string
  /** Resolves when the command and everything it started is gone; with an aborted signal it rejects, after that too. */
  run(command: Command): Promise<CommandResult>
  readFile(path: string, maxBytes: number): Promise<{ bytes: Uint8Array; truncated: boolean } | undefined>
  /** Below /workspace; makes the folders on the way. */
  writeFile(path: string, bytes: Uint8Array): Promise<void>
  /** The entries of one folder, by name; none when there is no such folder. */
  listFiles(path: string, maxEntries: number): Promise<ListedFile[]>
  /** The regular files of /workspace, with paths relative to it; of a folder with very many, those that hold something. */
  collect(caps: { maxFiles: number; maxBytes: number }): Promise<Collected>
  /** Ends every process; true only when all were seen to be gone. Idempotent. Removes what it held. */
  destroy(): Promise<boolean>
}

export interface SandboxSpec {
  /** Letters, digits, dashes. */
  id: string
  /** Shown read-only at /skill. */
  skillFiles: readonly SandboxFile[]
  limits: SandboxLimits
  /** All that a command's environment holds, besides HOME, LANG, PATH, TMPDIR and USER. */
  env: Readonly<Record<string, string>>
}

export interface SandboxDriver {
  readonly name: string
  /** Tries a sandbox; throws with what to do when this host cannot protect itself. */
  check(): Promise<void>
  /** With an aborted signal it gives up, while the walls are not up yet. */
  create(spec: SandboxSpec, signal?: AbortSignal): Promise<Sandbox>
  /** Ends and removes what an earlier process of this host left behind, each by itself. */
  sweep(isAlive: (id: string) => Promise<boolean>): Promise<Swept>
}

export interface Swept {
  /** Nothing is left of these. */
  cleared: string[]
  /** What could not be ended or removed; the next sweep tries again. */
  left: { id: string; cause: unknown }[]
}

export interface SandboxConfig {
  /**
   * `bubblewrap-without-limits` is the one that has to be asked for by name: no ceiling on memory, processes and CPU
   * time, so a skill can take the machine down. Everything else about it is as in `bubblewrap`.
   */
  kind: 'bubblewrap' | 'bubblewrap-without-limits' | 'runc' | 'runsc'
  /** A folder of this host for what sandboxes hold; users other than the worker's must be able to pass through it. */
  directory: string
  /** Where in the cgroup tree sandboxes are put, as `/guildhall`. */
  cgroupParent: string
  /** Host users that nothing else uses; a worker that runs as root gives each sandbox one of them. */
  uids: { first: number; count: number }
  /** The host's Python 3, which must lie in what sandboxes see. */
  python: string
  /** More of the host that sandboxes see, read-only; /usr is always seen. */
  readOnlyPaths: readonly string[]
}

/**
 * `lost`: the sandbox is gone, and all in it. `left`: it did not come about, and something of it may still run. `refused`:
 * this call was not possible; the message says why.
 */
export class SandboxError extends Error {
  readonly reason: 'lost' | 'left' | 'refused'

  constructor(reason: SandboxError['reason'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SandboxError'
    this.reason = reason
  }
}
