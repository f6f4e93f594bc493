import { createHash, randomUUID } from 'node:crypto'
import type { Deps } from '../deps.ts'
import { ApiError } from '../http/api-error.ts'
import type { Principal } from '../http/principal.ts'
import type { Tx } from '../platform/database.ts'
import { type Bundle, contentChecksum } from './bundle.ts'
import * as store from './store.ts'

export interface StoredFile {
  path: string
  sizeBytes: number
  checksum: string
}

/**
 * Writes a bundle's bytes, before the transaction that refers to them. If that never comes, the sweep removes them
 * after its grace time; until then they are in nobody's way.
 */
export async function storeFiles(
  deps: Pick<Deps, 'database' | 'storage'>,
  bundle: Bundle,
): Promise<StoredFile[]> {
  const files = bundle.files.map(({ path, bytes }) => ({
    path,
    bytes,
    checksum: createHash('sha256').update(bytes).digest('hex'),
  }))
  await store.touchBlobs(
    deps.database.db,
    files.map(({ checksum, bytes }) => ({ checksum, size_bytes: bytes.length })),
  )
  for (const { bytes, checksum } of files) {
    const written = deps.storage
      .has(checksum)
      .then((there) => (there ? undefined : deps.storage.put(bytes, { maxBytes: bytes.length })))
    await written.catch(storageAway)
  }
  return files.map(({ path, bytes, checksum }) => ({ path, sizeBytes: bytes.length, checksum }))
}

/** Nothing was referred to yet, so nothing is lost: the client tries again. */
export function storageAway(error: unknown): never {
  throw new ApiError('SERVICE_UNAVAILABLE', { cause: error, retryAfterSeconds: 1 })
}

interface NewArtifact {
  type: 'skill' | 'workflow' | 'file'
  slug: string
  name: string
  description: string
}

export async function createArtifact(
  tx: Tx,
  principal: Principal,
  artifact: NewArtifact,
  files: StoredFile[],
) {
  const row = {
    id: `artifact_${randomUUID()}`,
    workspace_id: principal.workspaceId,
    ...artifact,
    files_count: files.length,
    size_bytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    content_checksum: contentChecksum(files),
    created_by: principal.userId,
  }
  const createdAt = await store.insertArtifact(
    tx,
    row,
    files.map(({ path, sizeBytes, checksum }) => ({ path, size_bytes: sizeBytes, checksum })),
  )
  return { ...row, created_at: createdAt }
}

const graceSeconds = 3600
const sweptAtOnce = 500

/** Removes content that nothing refers to. The rows are held meanwhile, so that who wants it again waits. */
export async function sweepBlobs({ database, storage }: Pick<Deps, 'database' | 'storage'>): Promise<number> {
  return database.transaction(async (tx) => {
    const unwanted = await store.lockUnreferencedBlobs(tx, graceSeconds, sweptAtOnce)
    if (unwanted.length === 0) return 0
    await storage.delete(unwanted)
    await store.deleteBlobs(tx, unwanted)
    return unwanted.length
  })
}
