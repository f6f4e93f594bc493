import type { Readable } from 'node:stream'
import { ZipFile } from 'yazl'
import type { Deps } from '#platform/deps.ts'
import { blobName } from '#platform/storage.ts'
import * as store from './store.ts'
import { missingContent } from './store-away.ts'

// The same files give the same zip, whenever it is made.
const mtime = new Date('2026-01-01T00:00:00Z')

/** A bundle as a zip, one file read after the other while it is sent. */
export async function zipBundle(
  { database, storage }: Pick<Deps, 'database' | 'storage'>,
  bundleChecksum: string,
  folder: string,
): Promise<Readable> {
  const zip = new ZipFile()
  const output = zip.outputStream as Readable
  zip.on('error', (error) => output.destroy(error as Error))
  for (const file of await store.listBundleFiles(database.db, bundleChecksum)) {
    const entry = { mtime, mode: 0o100644, size: file.size_bytes }
    zip.addReadStreamLazy(`${folder}/${file.path}`, entry, (give) => {
      storage.open(blobName(file)).then(
        (blob) => {
          if (blob) return give(null, blob.stream)
          give(missingContent(file), output)
        },
        (error) => give(error, output),
      )
    })
  }
  zip.end()
  return output
}
