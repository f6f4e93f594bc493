import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAlive } from '../../support/processes.ts'

/** A small disk of its own for blobs, so that it can be full while the machine's is not. */
export interface BlobDisk {
  readonly folder: string
  /** Takes all that is free; what it gives makes room again. */
  fill(): Promise<() => void>
  unmount(): void
}

const prefix = 'guildhall-blobs-'
const filler = 'filler'
const pieceBytes = 1024 * 1024

export function mountBlobDisk(sizeMib: number): BlobDisk {
  unmountLeftOver()
  const mountPoint = mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`))
  // Others than root pass through it and see nothing.
  chmodSync(mountPoint, 0o711)
  const options = ['-t', 'tmpfs', '-o', `size=${sizeMib}m,mode=0711`, 'tmpfs', mountPoint]
  const { status, stderr } = spawnSync('mount', options, { encoding: 'utf8' })
  if (status !== 0) {
    rmdirSync(mountPoint)
    throw new Error(`No disk for blobs, which takes root and the right to mount: ${stderr.trim()}`)
  }
  const folder = join(mountPoint, 'blobs')
  mkdirSync(folder, { mode: 0o700 })
  let mounted = true
  const unmount = () => {
    if (!mounted) return
    mounted = false
    process.off('exit', unmount)
    unmountAt(mountPoint)
  }
  process.on('exit', unmount)
  const fillerFile = join(mountPoint, filler)
  return {
    folder,
    fill: async () => {
      await writeUntilFull(fillerFile)
      return () => rmSync(fillerFile, { force: true })
    },
    unmount,
  }
}

async function writeUntilFull(path: string): Promise<void> {
  const file = await open(path, 'w')
  try {
    for (let size = pieceBytes; size >= 1; ) {
      try {
        const { bytesWritten } = await file.write(Buffer.alloc(size))
        if (bytesWritten < size) size = Math.floor(size / 2)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
        size = Math.floor(size / 2)
      }
    }
  } finally {
    await file.close()
  }
}

/** Of programs that were killed before they could do it themselves. */
function unmountLeftOver(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = Number(/^guildhall-blobs-(\d+)-/.exec(name)?.[1])
    if (pid > 0 && !isAlive(pid)) unmountAt(join(tmpdir(), name))
  }
}

/** Lazily: a process that still has a file open in it must not keep it mounted. */
function unmountAt(mountPoint: string): void {
  spawnSync('umount', ['--lazy', mountPoint])
  rmSync(mountPoint, { recursive: true, force: true })
}
