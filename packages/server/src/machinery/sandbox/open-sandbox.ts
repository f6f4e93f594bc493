import type { Cgroup } from './cgroup.ts'
import type { Frame } from './frames.ts'
import type { Line } from './line.ts'
import {
  type Command,
  type CommandResult,
  type ListedFile,
  type Sandbox,
  SandboxError,
  type SandboxFile,
} from './port.ts'

/** How long a command that was told to stop may take until the sandbox is given up. */
const stopWithinMs = 2000
const fileWithinMs = 60_000
const lookEveryMs = 100

export interface OpenSandbox {
  id: string
  line: Line
  group: Cgroup
  env: Readonly<Record<string, string>>
  cpuSeconds: number
  end(): Promise<boolean>
}

/** The port on top of a running first process. Clocks, ceilings and verdicts are the worker's; it only obeys. */
export function openSandbox({ id, line, group, env, cpuSeconds, end }: OpenSandbox): Sandbox {
  let lastTurn: Promise<unknown> = Promise.resolve()
  let closing: Promise<boolean> | undefined

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = lastTurn.then(work)
    lastTurn = turn.catch(() => {})
    return turn
  }
  const askFile: Line['ask'] = (request) =>
    inTurn(async () => {
      const timer = setTimeout(() => line.lose('The sandbox does not answer'), fileWithinMs)
      try {
        return await line.ask(request)
      } finally {
        clearTimeout(timer)
      }
    })

  /** Its group goes with a sandbox that is destroyed meanwhile. */
  async function usageNow() {
    try {
      return await group.usage()
    } catch (cause) {
      throw new SandboxError('lost', 'The sandbox is gone', { cause })
    }
  }

  async function runNow(command: Command): Promise<CommandResult> {
    command.signal?.throwIfAborted()
    const before = await usageNow()
    const outOfMemory = async () => (await usageNow()).memoryKills > before.memoryKills
    const watch = watchCommand(command, line, async () => {
      const { cpuSeconds: used } = await usageNow()
      return used - before.cpuSeconds > cpuSeconds
    })
    try {
      const { shell, maxOutputBytes, stdin } = command
      const answer = await line.ask({
        head: { op: 'run', shell, env, maxOutputBytes },
        body: stdin,
        maxBodyBytes: 2 * maxOutputBytes,
        take: readResult,
      })
      command.signal?.throwIfAborted()
      return { ...answer, timedOut: watch.expired(), outOfMemory: await outOfMemory() }
    } catch (cause) {
      // Whatever keeps the first process from running a command, it is not to be trusted with another.
      const error = isRefusal(cause) ? line.lose('The sandbox could not run a command', cause) : cause
      command.signal?.throwIfAborted()
      // When memory ran out the kernel may have ended the first process as well.
      if (!(await outOfMemory().catch(() => false))) throw error
      const nothing = { exitCode: null, signal: 'SIGKILL', stdout: '', stderr: '', truncated: true }
      return { ...nothing, timedOut: watch.expired(), outOfMemory: true }
    } finally {
      watch.end()
    }
  }

  return {
    id,
    run: (command) => inTurn(() => runNow(command)),

    readFile: async (path, maxBytes) =>
      (
        await askFile({
          head: { op: 'read', path, maxBytes },
          maxBodyBytes: maxBytes,
          take: ({ head, body }) => ({
            file:
              head['missing'] === true ? undefined : { bytes: body, truncated: head['truncated'] === true },
          }),
        })
      ).file,

    async writeFile(path, bytes) {
      await askFile({ head: { op: 'write', path }, body: bytes, maxBodyBytes: 0, take: () => true })
    },

    listFiles: (path, maxEntries) =>
      askFile({
        head: { op: 'list', path, maxEntries },
        maxBodyBytes: 0,
        take: ({ head }) => readList(head['entries']).map(readEntry).slice(0, maxEntries),
      }),

    collect({ maxFiles, maxBytes }) {
      const files: SandboxFile[] = []
      let roomBytes = maxBytes
      return askFile({
        head: { op: 'collect', maxFiles, maxBytes },
        maxBodyBytes: maxBytes,
        take({ head, body }) {
          if ('leftOut' in head) {
            return {
              files,
              leftOut: readList(head['leftOut']).map(String),
              others: readCount(head['others']),
            }
          }
          roomBytes -= body.length
          if (files.length === maxFiles || roomBytes < 0) throw new Error('More files than were asked for')
          files.push({ path: readPath(head['path']), bytes: body, executable: head['executable'] === true })
          return undefined
        },
      })
    },

    destroy() {
      line.lose('The sandbox was destroyed')
      // What could not be ended may be tried again.
      closing ??= end().then((gone) => {
        if (!gone) closing = undefined
        return gone
      })
      return closing
    },
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof SandboxError && error.reason === 'refused'
}

/** Stops the command when its time, its CPU time or its caller's patience is over. */
function watchCommand(command: Command, line: Line, isCpuUsedUp: () => Promise<boolean>) {
  let expired = false
  let givingUp: NodeJS.Timeout | undefined
  const stop = () => {
    if (givingUp) return
    line.stop()
    givingUp = setTimeout(() => line.lose('A command could not be stopped'), stopWithinMs)
  }
  const expire = () => {
    expired = true
    stop()
  }
  const clock = setTimeout(expire, command.timeoutMs)
  const look = setInterval(() => {
    // A sandbox that is being destroyed has no usage any more, and needs no stopping.
    isCpuUsedUp().then(
      (usedUp) => usedUp && expire(),
      () => {},
    )
  }, lookEveryMs)
  command.signal?.addEventListener('abort', stop)
  return {
    expired: () => expired,
    end() {
      clearTimeout(clock)
      clearInterval(look)
      clearTimeout(givingUp)
      command.signal?.removeEventListener('abort', stop)
    },
  }
}

function readResult({ head, body }: Frame): Omit<CommandResult, 'timedOut' | 'outOfMemory'> {
  const split = Number(head['stdoutBytes'])
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
  return {
    exitCode: typeof head['exitCode'] === 'number' ? head['exitCode'] : null,
    signal: typeof head['signal'] === 'string' ? head['signal'] : null,
    stdout: text(body.subarray(0, split)),
    stderr: text(body.subarray(split)),
    truncated: head['truncated'] === true,
  }
}

function readEntry(entry: unknown): ListedFile {
  const { path, sizeBytes, kind } = entry as Record<string, unknown>
  return {
    path: String(path),
    sizeBytes: Number(sizeBytes),
    kind: kind === 'file' || kind === 'directory' ? kind : 'other',
  }
}

function readList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function readCount(value: unknown): number {
  return Number.isSafeInteger(value) ? Math.max(0, Number(value)) : 0
}

/** A collected path may be used on the host one day, so it is held to the rules here and not only by the sandbox. */
function readPath(value: unknown): string {
  const path = String(value)
  const climbs = path.split('/').some((name) => name === '' || name === '.' || name === '..')
  if (climbs || path.includes('\0')) throw new SandboxError('lost', 'The sandbox named an impossible path')
  return path
}
