/** Reads one setting and keeps what is wrong with it for later. */
export type Attempt = <T>(name: string, read: (value: string) => T, fallback?: T) => T

const kinds = ['bubblewrap', 'bubblewrap-without-limits', 'runc', 'runsc'] as const

/** Where and within what bounds skills' commands run. */
export interface SandboxSettings {
  kind: (typeof kinds)[number]
  directory: string
  cgroupParent: string
  uids: { first: number; count: number }
  python: string
  readOnlyPaths: readonly string[]
  limits: {
    memoryBytes: number
    pids: number
    cpuSeconds: number
    workspaceBytes: number
    tmpBytes: number
  }
}

export function readSandbox(attempt: Attempt): SandboxSettings {
  const mebibytes = (name: string, standard: number) => attempt(name, readCount, standard) * 1024 * 1024
  return {
    kind: attempt('SANDBOX', readKind, 'bubblewrap'),
    directory: attempt('SANDBOX_DIR', readPath, '/var/lib/guildhall/sandboxes'),
    cgroupParent: attempt('SANDBOX_CGROUP', readPath, '/guildhall'),
    uids: attempt('SANDBOX_UIDS', readUids, { first: 200_000, count: 10_000 }),
    python: attempt('SANDBOX_PYTHON', readPath, '/usr/bin/python3'),
    readOnlyPaths: attempt('SANDBOX_READ_ONLY', (value) => value.split(',').map(readPath), []),
    limits: {
      memoryBytes: mebibytes('SANDBOX_MEMORY_MIB', 512),
      pids: attempt('SANDBOX_PIDS', readCount, 128),
      cpuSeconds: attempt('SANDBOX_CPU_SECONDS', readCount, 300),
      workspaceBytes: mebibytes('SANDBOX_WORKSPACE_MIB', 64),
      tmpBytes: mebibytes('SANDBOX_TMP_MIB', 64),
    },
  }
}

function readKind(value: string): SandboxSettings['kind'] {
  const kind = kinds.find((name) => name === value)
  if (!kind) throw new Error(`must be one of ${kinds.join(', ')}`)
  return kind
}

function readUids(value: string): { first: number; count: number } {
  const [, first, count] = /^(\d+):(\d+)$/.exec(value) ?? []
  // Of the OCI drivers the first one is the container's root.
  if (!(Number(first) >= 1000 && Number(count) >= 2))
    throw new Error('must be first:count, first at least 1000 and count at least 2')
  return { first: Number(first), count: Number(count) }
}

function readPath(value: string): string {
  if (!value.startsWith('/')) throw new Error('must be an absolute path')
  return value
}

function readCount(value: string): number {
  if (!/^[1-9]\d*$/.test(value)) throw new Error('must be a whole number above 0')
  return Number(value)
}
