import type { BodyOf, executionRoutes } from '@guildhall/contract'
import {
  type BundleFile,
  decodeBase64,
  findArtifact,
  readBundle,
  type StoredBundle,
  storeFiles,
  toBundle,
} from '../artifacts/artifacts.ts'
import type { Deps } from '../deps.ts'
import { ApiError } from '../http/api-error.ts'

type Attachment = NonNullable<BodyOf<(typeof executionRoutes)['runSkill']>['attachments']>[number]

/** Everything that comes with an input becomes one bundle, which the agent finds in its workspace. */
export async function storeAttachments(
  deps: Deps,
  workspaceId: string,
  attachments: readonly Attachment[] | undefined,
): Promise<StoredBundle | undefined> {
  if (!attachments || attachments.length === 0) return undefined
  const files = []
  for (const attachment of attachments) files.push(...(await filesOf(deps, workspaceId, attachment)))
  return storeFiles(deps, toBundle('file', files))
}

async function filesOf(
  deps: Deps,
  workspaceId: string,
  { name, artifactId, data }: Attachment,
): Promise<BundleFile[]> {
  if ((artifactId === undefined) === (data === undefined)) {
    throw new ApiError('INVALID_INPUT', { message: `attachments: ${name} needs either data or artifactId` })
  }
  if (data !== undefined) {
    const bytes = decodeBase64(data)
    if (bytes) return [{ path: name, bytes }]
    throw new ApiError('INVALID_INPUT', { message: `attachments: the data of ${name} is not base64` })
  }
  const artifact = await findArtifact(deps.database.db, workspaceId, artifactId ?? '')
  if (!artifact)
    throw new ApiError('NOT_FOUND', { message: `attachments: there is no artifact ${artifactId}` })
  const files = await readBundle(deps, artifact.content_checksum)
  const [only] = files
  if (only && files.length === 1) return [{ path: name, bytes: only.bytes }]
  return files.map(({ path, bytes }) => ({ path: `${name}/${path}`, bytes }))
}
