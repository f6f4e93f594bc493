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

class QuotaExceeded extends ApiError {
  constructor(limit: number, unit: string) {
    super('INVALID_INPUT', {
      message: `Artifacts, attachments and skills of a workspace may have ${limit} ${unit} together; delete some first`,
      details: { limit },
    })
  }
}

export function isQuotaExceeded(error: unknown): boolean {
  return error instanceof QuotaExceeded
}
