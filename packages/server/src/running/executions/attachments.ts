import type { BodyOf, executionRoutes } from '@guildhall/contract'
import {
  arrangeFiles,
  type BundleFile,
  claimStoredFiles,
  decodeBase64,
  findArtifact,
  requireArtifactRoom,
  requireNameable,
  type StoredBundle,
  type StoredFile,
  storeForWorkspace,
} from '#library/artifacts/artifacts.ts'
import type { Call } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'

type Attachment = NonNullable<BodyOf<(typeof executionRoutes)['runSkill']>['attachments']>[number]

type Caller = Pick<Call<(typeof executionRoutes)['runSkill']>, 'principal' | 'access' | 'deps'>

/**
 * Everything that comes with an input becomes one bundle, which the agent finds in its workspace. What is attached from
 * an artifact is in the store already: it is referred to, and not read.
 */
export async function storeAttachments(
  call: Caller,
  attachments: readonly Attachment[] | undefined,
): Promise<StoredBundle | undefined> {
  if (!attachments || attachments.length === 0) return undefined
  const { deps, principal } = call
  const artifacts = new Map<string, readonly StoredFile[]>()
  const given: (BundleFile | StoredFile)[] = []
  for (const attachment of attachments) {
    const { name, artifactId, data } = attachment
    if (artifactId !== undefined && data === undefined) {
      const stored = artifacts.get(artifactId) ?? (await filesOfArtifact(call, artifactId))
      artifacts.set(artifactId, stored)
      given.push(...underName(name, stored))
    } else given.push(fileOf(attachment))
  }
  const bundle = arrangeFiles(given, (file) => ('bytes' in file ? file.bytes.length : file.sizeBytes))
  await requireArtifactRoom(deps.database.db, deps.config, principal.workspaceId, bundle)
  return storeForWorkspace(deps, principal.workspaceId, bundle)
}

function fileOf({ name, artifactId, data }: Attachment): BundleFile {
  if (data === undefined || artifactId !== undefined)
    throw new ApiError('INVALID_INPUT', { message: `attachments: ${name} needs either data or artifactId` })
  const bytes = decodeBase64(data)
  if (bytes) return { path: name, bytes }
  throw new ApiError('INVALID_INPUT', { message: `attachments: the data of ${name} is not base64` })
}

async function filesOfArtifact(call: Caller, artifactId: string): Promise<StoredFile[]> {
  const { db } = call.deps.database
  await requireNameable(call, artifactId)
  const artifact = await findArtifact(db, call.principal.workspaceId, artifactId)
  const files = artifact && (await claimStoredFiles(db, artifact.content_checksum))
  if (!files) throw new ApiError('NOT_FOUND', { message: `attachments: there is no artifact ${artifactId}` })
  return files
}

/** The only file of an artifact is named as the attachment is, several are in a folder of that name. */
function underName(name: string, files: readonly StoredFile[]): StoredFile[] {
  if (files.length === 1) return files.map((file) => ({ ...file, path: name }))
  return files.map((file) => ({ ...file, path: `${name}/${file.path}` }))
}
