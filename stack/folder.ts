import { chmodSync, mkdirSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import { chmod, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What every part of a stack is started with. */
export type PartOptions = {
  /** The stack's folder; the part keeps its data and its log in it. */
  dir: string
  /** Whether the part is started again when it dies. Yes unless told otherwise. */
  restart?: boolean | undefined
  /** Ends a start that is under way. */
  signal?: AbortSignal | undefined
  /** Called whenever the process id changes, with a sentence when the reason is a death. */
  onChange?: ((note?: string) => void) | undefined
}

export async function makeFolder(): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'guildhall-stack-'))
  await openForTraversal(dir)
  return dir
}

/** PostgreSQL may run as another user and has to reach its own folder inside. */
export async function openForTraversal(dir: string): Promise<void> {
  await chmod(dir, 0o711)
}

export async function removeFolder(dir: string): Promise<void> {
  // Backends that outlived a killed PostgreSQL may still be writing their last file.
  await rm(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}

export function logFileOf(dir: string, name: string): string {
  const logs = join(dir, 'logs')
  mkdirSync(logs, { recursive: true })
  return join(logs, `${name}.log`)
}

/** Open to every user, as /tmp is, because not every process of a stack runs as the same one. */
export function temporaryFolder(dir: string): string {
  const folder = join(dir, 'tmp')
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o1777)
  return folder
}

/** By rename, so that a reader finds the old or the new content and never half of one. */
export function replaceFile(file: string, content: string): void {
  writeFileSync(`${file}.new`, content)
  renameSync(`${file}.new`, file)
}
