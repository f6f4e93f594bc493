import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  constants as open,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { exit } from '../exit-codes.ts'
import { Failure } from '../failure.ts'

const secretMode = 0o600
const folderMode = 0o700

/** Undefined where there is none. Refuses what somebody else could have put there; narrows what is too open. */
export function readPrivate(path: string, narrowed: (path: string) => void): string | undefined {
  let file: number
  try {
    // O_NOFOLLOW: a link that somebody planted must not make us read, or later send, another file.
    file = openSync(path, open.O_RDONLY | (open.O_NOFOLLOW ?? 0))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    if (codeOf(error) === 'ELOOP') throw refused(path, 'is a link')
    throw cannot('read', path, error)
  }
  try {
    const { mode, uid } = fstatSync(file)
    const me = process.getuid?.()
    if (me !== undefined && uid !== me) throw refused(path, 'belongs to another user')
    if (me !== undefined && (mode & 0o077) !== 0) {
      fchmodSync(file, secretMode)
      narrowed(path)
    }
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

/** Whole or not at all: a process that dies leaves the file before. */
export function writePrivate(path: string, text: string): void {
  const folder = dirname(path)
  const temporary = join(folder, `.${randomUUID()}.tmp`)
  try {
    ensureFolder(folder)
    const file = openSync(temporary, open.O_WRONLY | open.O_CREAT | open.O_EXCL, secretMode)
    try {
      writeSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, path)
  } catch (error) {
    forget(temporary)
    if (error instanceof Failure) throw error
    throw cannot('write', path, error)
  }
}

const lockIsStaleMs = 5000
/** Longer than a lock can be stale: whoever was killed with it must not cost the next command its key. */
const lockWaitMs = 15_000

/** Reads, changes and writes as one step: two commands at once must not lose each other's key. */
export function changingPrivate<T>(path: string, work: () => T): T {
  const lock = `${path}.lock`
  const mark = `${process.pid} ${randomUUID()}`
  const until = Date.now() + lockWaitMs
  ensureFolder(dirname(path))
  for (;;) {
    try {
      const file = openSync(lock, open.O_WRONLY | open.O_CREAT | open.O_EXCL, secretMode)
      writeSync(file, mark)
      closeSync(file)
      break
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw cannot('write', path, error)
    }
    // Whoever died with the lock held it for milliseconds; five seconds are enough to be sure.
    if (isStale(lock)) takeAway(lock)
    else if (Date.now() > until) throw cannot('write', path, new Error(`${lock} is held by another command`))
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
  }
  try {
    return work()
  } finally {
    // Only our own: had we been stopped for long, another holds it by now.
    if (textOf(lock) === mark) rmSync(lock, { force: true })
  }
}

/** Two that find the same stale lock must not both remove one: what was moved away and is not that lock is put back. */
function takeAway(lock: string): void {
  const found = textOf(lock)
  const aside = `${lock}.${randomUUID()}`
  try {
    renameSync(lock, aside)
    if (textOf(aside) !== found) linkSync(aside, lock)
  } catch {
    // Somebody else was first.
  }
  forget(aside)
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function isStale(lock: string): boolean {
  try {
    return Date.now() - lstatSync(lock).mtimeMs > lockIsStaleMs
  } catch {
    return false
  }
}

export function removePrivate(path: string): void {
  rmSync(path, { force: true })
}

/** Whether a secret could be kept here; throws what says why not. Leaves nothing behind. */
export function probeFolder(folder: string): void {
  const path = join(folder, `.probe-${randomUUID()}`)
  writePrivate(path, 'probe')
  removePrivate(path)
}

/** There may be nothing, and not even a folder. */
function forget(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // What could not be made need not be removed.
  }
}

function ensureFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: folderMode })
  const { mode, uid } = lstatSync(folder)
  const me = process.getuid?.()
  if (me === undefined) return
  if (uid !== me) throw refused(folder, 'belongs to another user')
  if ((mode & 0o077) !== 0) chmodSync(folder, folderMode)
}

function refused(path: string, why: string): Failure {
  return new Failure({
    exitCode: exit.notSignedIn,
    message: `${path} ${why}, so it is not used for secrets.`,
    next: [`ls -ld ${path}`, 'GUILD_CONFIG_DIR=~/.guild guild login'],
  })
}

function cannot(verb: string, path: string, cause: unknown): Failure {
  return new Failure({
    exitCode: exit.notSignedIn,
    message: `Cannot ${verb} ${path}: ${cause instanceof Error ? cause.message : String(cause)}.`,
    next: ['GUILD_CONFIG_DIR=<a folder of yours> guild login', 'or set GUILD_API_KEY'],
    cause,
  })
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
