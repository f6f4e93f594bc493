import type { BodyOf, executionRoutes } from '@guildhall/contract'
import {
  type BundleFile,
  decodeBase64,
  findArtifact,
  readBundle,
  requireArtifactRoom,
  requireReadable,
  type StoredBundle,
  storeFiles,
  toBundle,
} from '#library/artifacts/artifacts.ts'
import type { Call } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'

type Attachment = NonNullable<BodyOf<(typeof executionRoutes)['runSkill']>['attachments']>[number]

type Caller = Pick<Call<(typeof executionRoutes)['runSkill']>, 'principal' | 'access' | 'deps'>

/** Everything that comes with an input becomes one bundle, which the agent finds in its workspace. */
export async function storeAttachments(
  call: Caller,
  attachments: readonly Attachment[] | undefined,
): Promise<StoredBundle | undefined> {
  if (!attachments || attachments.length === 0) return undefined
  const files = []
  for (const attachment of attachments) files.push(...(await filesOf(call, attachment)))
  const { deps, principal } = call
  const bundle = toBundle('file', files)
  await requireArtifactRoom(deps.database.db, deps.config, principal.workspaceId, bundle)
  return storeFiles(deps, bundle)
}

async function filesOf(call: Caller, { name, artifactId, data }: Attachment): Promise<BundleFile[]> {
  const { deps, principal } = call
  if ((artifactId === undefined) === (data === undefined)) {
    throw new ApiError('INVALID_INPUT', { message: `attachments: ${name} needs either data or artifactId` })
  }
  if (data !== undefined) {
    const bytes = decodeBase64(data)
    if (bytes) return [{ path: name, bytes }]
    throw new ApiError('INVALID_INPUT', { message: `attachments: the data of ${name} is not base64` })
  }
  // What is attached is read by the skill, and by whoever reads what the skill says.
  await requireReadable(call, artifactId ?? '')
  const artifact = await findArtifact(deps.database.db, principal.workspaceId, artifactId ?? '')
  if (!artifact)
    throw new ApiError('NOT_FOUND', { message: `attachments: there is no artifact ${artifactId}` })
  const files = await readBundle(deps, artifact.content_checksum)
  const [only] = files
  if (only && files.length === 1) return [{ path: name, bytes: only.bytes }]
  return files.map(({ path, bytes }) => ({ path: `${name}/${path}`, bytes }))
}
