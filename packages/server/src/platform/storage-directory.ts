import { randomUUID } from 'node:crypto'
import {
  access,
  constants,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  type BlobStore,
  blobName,
  importKey,
  isBlobName,
  keyOf,
  keyPrefix,
  type ListedBlob,
  listedAtOnce,
  measure,
  type OpenedBlob,
  probe,
  probing,
  readCapped,
  readVerified,
} from './storage.ts'

const tidyEveryMs = 3_600_000

/**
 * Blobs as files, for one machine or a shared file system. The folder itself must exist and is never made here: a
 * volume that is not mounted must look absent, not empty.
 */
export function createDirectoryStore(root: string): BlobStore {
  const temporary = join(root, 'tmp')
  const fileOf = (name: string) => join(root, keyOf(name))
  let tidiedAtMs = Number.NEGATIVE_INFINITY

  async function openBlob(name: string): Promise<OpenedBlob | undefined> {
    const file = await presentOnly(open(fileOf(name), 'r'))
    if (!file) return undefined
    try {
      const { size } = await file.stat()
      return { stream: file.createReadStream(), sizeBytes: size }
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** No file is an answer only while the folder is there. */
  async function presentOnly<T>(answer: Promise<T>): Promise<T | undefined> {
    try {
      return await answer
    } catch (error) {
      if (!isMissing(error)) throw error
      await access(root)
      return undefined
    }
  }

  /** What killed processes left half-written, once it is too old to be under way. */
  async function tidy(): Promise<void> {
    if (performance.now() - tidiedAtMs < tidyEveryMs) return
    tidiedAtMs = performance.now()
    for (const name of await readdir(temporary)) {
      const file = join(temporary, name)
      const found = await presentOnly(stat(file))
      if (found && Date.now() - found.mtimeMs > tidyEveryMs) await rm(file, { force: true })
    }
  }

  const writeProbe = probing(async () => {
    await makeFolder(temporary)
    const file = join(temporary, randomUUID())
    try {
      await writeFile(file, probe, { flag: 'wx', mode: 0o640 })
    } finally {
      await rm(file, { force: true })
    }
  })

  return {
    async put(bytes, { maxBytes, generation = null }) {
      const measured = measure(bytes, maxBytes)
      const draft = join(temporary, randomUUID())
      await makeFolder(temporary)
      await tidy()
      try {
        await writeDurably(draft, measured.chunks)
        const checksum = measured.checksum()
        const name = blobName({ checksum, generation })
        const file = fileOf(name)
        await makeFolder(join(root, keyPrefix))
        await makeFolder(dirname(file))
        const created = !(await presentOnly(stat(file)))
        // Also over a blob that is there: it becomes whole if it was damaged.
        await rename(draft, file)
        await syncFolder(dirname(file))
        return { name, checksum, sizeBytes: measured.sizeBytes(), created }
      } catch (error) {
        await rm(draft, { force: true })
        throw error
      }
    },

    read: async (name, maxBytes) => readVerified(await openBlob(name), name, maxBytes),

    has: async (name) => (await presentOnly(stat(fileOf(name)))) !== undefined,

    async delete(names) {
      const files = names.map(fileOf)
      await access(root)
      for (const file of files) await rm(file, { force: true })
    },

    async list(after, limit = listedAtOnce) {
      if (after !== undefined) keyOf(after)
      const blobs = join(root, keyPrefix)
      const found: ListedBlob[] = []
      const folders = ((await presentOnly(readdir(blobs))) ?? []).filter(isShard).sort()
      for (const folder of folders.filter((shard) => shard >= (after?.slice(0, 2) ?? ''))) {
        const names = (await readdir(join(blobs, folder))).filter(isBlobName).sort()
        for (const name of names.filter((one) => after === undefined || one > after)) {
          if (found.length === limit) return found
          const file = await presentOnly(stat(join(blobs, folder, name)))
          if (file) found.push({ name, storedAt: file.mtime })
        }
      }
      return found
    },

    async readImport(workspaceId, name, maxBytes) {
      const path = join(root, importKey(workspaceId, name))
      // Who may write here is the operator's business; a link that leads elsewhere is not followed all the same.
      const real = await presentOnly(realpath(path))
      if (real === undefined || real !== join(await realpath(root), importKey(workspaceId, name)))
        return undefined
      const file = await open(real, 'r')
      try {
        if (!(await file.stat()).isFile()) return undefined
        return await readCapped(file.createReadStream(), maxBytes)
      } finally {
        await file.close()
      }
    },

    async check() {
      await access(root, constants.R_OK | constants.W_OK | constants.X_OK)
      await writeProbe()
    },
  }
}

async function writeDurably(path: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'wx', 0o640)
  try {
    for await (const chunk of chunks) await file.writeFile(chunk)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Not recursive, see above; a new folder's own entry has to be durable before a file in it can be. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, 0o750)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return
    throw error
  }
  await syncFolder(dirname(path))
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

function isShard(name: string): boolean {
  return /^[0-9a-f]{2}$/.test(name)
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
