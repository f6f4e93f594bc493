import { ApiError } from '#operations/errors.ts'
import type { Config } from '#platform/config.ts'
import type { Db } from '#platform/database.ts'
import * as store from './store.ts'

export type Quotas = Pick<Config, 'quotas'>

interface Added {
  readonly sizeBytes: number
  readonly files: readonly unknown[]
}

/**
 * Refuses what would bring a workspace over its quota. Asked before bytes are written, so that a full workspace cannot
 * fill the store with what nothing will refer to, and again by the transaction that refers to them, which decides.
 */
export async function requireArtifactRoom(
  db: Db,
  { quotas: { artifactBytes, artifactFiles } }: Quotas,
  workspaceId: string,
  added: Added = { sizeBytes: 0, files: [] },
): Promise<void> {
  const { bytes, files } = await store.findArtifactUsage(db, workspaceId)
  if (bytes + added.sizeBytes > artifactBytes) throw new QuotaExceeded(artifactBytes, 'bytes')
  if (files + added.files.length > artifactFiles) throw new QuotaExceeded(artifactFiles, 'files')
}

/**
 * Within an hour a workspace writes no more than its quota, whatever becomes of it: else uploads that are refused when
 * their bytes are there, and making and deleting, fill the store with what nothing refers to. What was written within the
 * hour already is not written again by a repeat; later it is, since that keeps it from the sweep.
 */
export async function claimWriting(
  db: Db,
  { quotas: { artifactBytes: bytes, artifactFiles: files } }: Quotas,
  workspaceId: string,
  added: readonly { readonly checksum: string; readonly sizeBytes: number }[],
): Promise<void> {
  const sizes = new Map(added.map(({ checksum, sizeBytes }) => [checksum, sizeBytes]))
  for (const checksum of await store.listBlobsOfHour(db, [...sizes.keys()])) sizes.delete(checksum)
  if (sizes.size === 0) return
  const writing = { bytes: [...sizes.values()].reduce((sum, size) => sum + size, 0), files: sizes.size }
  const isClaimed = await store.claimWriting(db, workspaceId, writing, { bytes, files })
  if (!isClaimed) throw new HourExceeded(bytes, files)
}

class HourExceeded extends ApiError {
  constructor(bytes: number, files: number) {
    const message = `A workspace may write ${bytes} bytes and ${files} files within an hour, and what was deleted or refused counts; try again after the full hour`
    super('INVALID_INPUT', { message, details: { limit: bytes, files } })
  }
}

class QuotaExceeded extends ApiError {
  constructor(limit: number, unit: string) {
    super('INVALID_INPUT', {
      message: `Artifacts, attachments and skills of a workspace may have ${limit} ${unit} together; delete some first`,
      details: { limit },
    })
  }
}

export function isQuotaExceeded(error: unknown): boolean {
  return error instanceof QuotaExceeded || error instanceof HourExceeded
}
