import { fstatSync, writeSync } from 'node:fs'
import { type ExitCode, exit } from '../exit-codes.ts'

export interface Stream {
  write(text: string): unknown
  isTTY?: boolean | undefined
  columns?: number | undefined
}

/**
 * stdout and stderr by their numbers. Node's own objects load a network library first, a third of the time that help
 * takes; they are touched only where a terminal might be. Every write is done when it returns, so that nothing is
 * lost however the program ends.
 */
function streamOf(descriptor: 1 | 2, terminal: () => NodeJS.WriteStream): Stream {
  let isTerminal: boolean | undefined
  return {
    get isTTY() {
      isTerminal ??= isDevice(descriptor) && terminal().isTTY === true
      return isTerminal
    },
    get columns() {
      return this.isTTY ? terminal().columns : undefined
    },
    write: (text) => writeWhole(descriptor, Buffer.from(text)),
  }
}

export const stdout = streamOf(1, () => process.stdout)
export const stderr = streamOf(2, () => process.stderr)

/** A pipe or a file is no terminal; a device may be one. */
function isDevice(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isCharacterDevice()
  } catch {
    return false
  }
}

let whenUnread: ExitCode | undefined

/** What the program ends with when its answer cannot be written: for some callers every other number is a yes. */
export function endUnreadWith(exitCode: ExitCode): void {
  whenUnread = exitCode
}

function writeWhole(descriptor: 1 | 2, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(descriptor, bytes, at)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // The reader is slow: a pipe that does not block is full.
      if (code === 'EAGAIN') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
      // The reader has gone. What runs on the server goes on; talk that nobody hears is no reason to end.
      else if (descriptor === 1) process.exit(whenUnread ?? (code === 'EPIPE' ? exit.done : exit.failed))
      else return
    }
  }
}
