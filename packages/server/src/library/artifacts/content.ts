import type { Deps } from '#platform/deps.ts'
import { type BlobRef, blobName } from '#platform/storage.ts'
import { missingContent, storageAway } from './store-away.ts'

/** What a file that is referred to holds, whole. */
export async function readContent(
  { storage }: Pick<Deps, 'storage'>,
  file: BlobRef & { readonly size_bytes: number },
): Promise<Buffer> {
  const bytes = await storage.read(blobName(file), file.size_bytes).catch(storageAway)
  if (!bytes) throw missingContent(file)
  return bytes
}
