import { blobName } from '#platform/storage.ts'
import type { House } from './house.ts'

/** What content is called in the store at this moment. */
export async function storedAs({ deps }: Pick<House, 'deps'>, checksum: string): Promise<string> {
  const blobs = deps.database.db.selectFrom('blobs').select(['checksum', 'generation'])
  return blobName(await blobs.where('checksum', '=', checksum).executeTakeFirstOrThrow())
}
