import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { ZipFile } from 'yazl'
import type { WholeFile } from '#operations/answer.ts'
import type { Deps } from '#platform/deps.ts'
import { readContent } from './content.ts'
import * as store from './store.ts'

type Files = Awaited<ReturnType<typeof store.listBundleFiles>>

// The same files give the same zip, whenever it is made.
const mtime = new Date('2026-01-01T00:00:00Z')

/** A bundle as a zip. */
export async function zipBundle(
  { database, storage }: Pick<Deps, 'database' | 'storage'>,
  bundleChecksum: string,
  folder: string,
): Promise<WholeFile> {
  const files = await store.listBundleFiles(database.db, bundleChecksum)
  const heldBytes = files.reduce((sum, file) => sum + file.size_bytes, 0)
  return { heldBytes, read: () => zipFiles({ storage }, files, folder) }
}

/** One file is read after the other, as the zip comes to it. */
function zipFiles(deps: Pick<Deps, 'storage'>, files: Files, folder: string): Promise<Buffer> {
  const zip = new ZipFile()
  const output = zip.outputStream as Readable
  zip.on('error', (error) => output.destroy(error as Error))
  for (const file of files) {
    const entry = { mtime, mode: 0o100644, size: file.size_bytes }
    zip.addReadStreamLazy(`${folder}/${file.path}`, entry, (give) => {
      readContent(deps, file).then(
        (bytes) => give(null, Readable.from([bytes], { objectMode: false })),
        (error) => give(error, output),
      )
    })
  }
  zip.end()
  return buffer(output)
}
