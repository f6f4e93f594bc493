import type { ChildProcess, ChildProcessWithoutNullStreams } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { SandboxConfig, SandboxLimits } from './port.ts'

/** What a sandbox has on the host before it starts. */
export interface Lodging {
  id: string
  folder: string
  /** Folders below `folder` that are shown at /skill, and whose files are shown in /etc. */
  skill: string
  etc: string
  /** The host user that its processes have; undefined leaves the worker's own, which is not root then. */
  uid: number | undefined
  /** Its group: where a process writes its number to be in it. */
  memberFiles: readonly string[]
  limits: SandboxLimits
}

export interface Launched {
  /** Speaks with the first process by its standard streams, and exits once that is gone. */
  child: ChildProcessWithoutNullStreams
  /** The first process, as the host numbers it. */
  pid: number
  /** What the program that puts up the walls has complained about. */
  trouble(): string
}

/** A way of starting the first process behind walls. */
export interface Launcher {
  readonly name: string
  /** What the walls themselves need, on top of what the skill may use, and how many host tasks one of its own takes. */
  readonly overhead: { memoryBytes: number; pids: number; pidsForEach: number }
  /** The host user that puts up the walls and so has to reach the folder, when it is not the sandbox's own. */
  readonly builderUid?: number
  /** Throws with what to do when this host cannot. */
  check(): Promise<void>
  /**
   * From the first process on all is in the group, so that a start that is broken off at any point, or whose worker
   * dies, leaves nothing that is not found there. With an aborted signal it rejects, and has ended what it started.
   */
  launch(lodging: Lodging, signal: AbortSignal): Promise<Launched>
  /** Removes the launcher's own notes about a sandbox, of which no process is left. */
  forget(id: string): Promise<void>
}

/** Inside, every sandbox has the same user, whatever the host's number is. */
export const insideUid = 1000

/** For /dev/shm, which programs use to share memory with their own parts. */
export const sharedMemoryBytes = 16 * 1024 * 1024

const warden = readFileSync(new URL('warden.py', import.meta.url), 'utf8')

/** As text and not as a file: the sandbox's user need not be able to read where the worker is installed. */
export function wardenCommand({ python }: SandboxConfig): string[] {
  // Newer ones warn of a fork beside a thread; what is forked here is replaced at once, and locks nothing.
  return [python, '-I', '-S', '-W', 'ignore', '-c', warden]
}

/**
 * Ends a program that may still be putting up walls, and what it has made for that: a child of bubblewrap's waits for
 * ever when bubblewrap alone is ended. The program must have been started as the first of a session.
 */
export function endStart({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** What a start brings about; when it fails, or the signal has enough of it, its program is ended. */
export async function whileWanted<T>(
  child: ChildProcessWithoutNullStreams,
  signal: AbortSignal,
  work: Promise<T>,
): Promise<T> {
  const unwanted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  try {
    signal.throwIfAborted()
    return await Promise.race([work, unwanted])
  } catch (error) {
    work.catch(() => {})
    endStart(child)
    throw error
  }
}

/** The last words of a program that did not start. */
export function listenForTrouble(child: ChildProcessWithoutNullStreams): () => string {
  let words = ''
  child.stderr.on('data', (chunk: Buffer) => {
    words = (words + chunk.toString()).slice(-2000)
  })
  return () => words.trim()
}
