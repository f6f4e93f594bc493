import { createHash } from 'node:crypto'
import { type BodyOf, bundleLimits, type skillRoutes } from '@guildhall/contract'
import {
  type Bundle,
  bundlePath,
  failingAs,
  findArtifact,
  readBundle,
  readSkillFile,
  requireArtifactRoom,
  type StoredBundle,
  storageAway,
  storeForWorkspace,
  toBundle,
  unpack,
} from '#library/artifacts/artifacts.ts'
import { findCatalogSkill } from '#library/catalog/catalog.ts'
import { fetchGit, fetchRegistry, lintSkill } from '#library/sources/sources.ts'
import { ApiError } from '#operations/errors.ts'
import type { Principal } from '#operations/principal.ts'
import type { Deps } from '#platform/deps.ts'
import { TooLargeError } from '#platform/storage.ts'
import { agentTools, contentOf, contentOfRow, type SkillContent, type SkillOrigin } from './skills.ts'

/** What is to be installed, with its bytes in the store. */
export interface Origin {
  content: SkillContent
  /** Undefined when the bundle is kept already. */
  stored?: StoredBundle
}

type InstallBody = BodyOf<typeof skillRoutes.installSkill>

/** Where a skill comes from when it is installed by its slug: an artifact, another registry, or else the catalog. */
export async function findOrigin(
  deps: Deps,
  principal: Principal,
  slug: string,
  { artifactId, registry }: InstallBody,
  signal: AbortSignal,
): Promise<Origin> {
  if (artifactId !== undefined && registry !== undefined) {
    throw new ApiError('INVALID_INPUT', { message: 'Name an artifactId or a registry, not both' })
  }
  if (artifactId !== undefined) return fromArtifact(deps, principal.workspaceId, artifactId)
  if (registry !== undefined) return fromRegistry(deps, principal, { registry, slug }, signal)
  return fromCatalog(deps, slug)
}

async function fromCatalog({ database }: Deps, slug: string): Promise<Origin> {
  const row = await findCatalogSkill(database.db, slug)
  if (!row) throw new ApiError('NOT_FOUND')
  const bytes = Buffer.from(row.prompt)
  const warnings = lintSkill([{ path: 'SKILL.md', bytes }], readSkillFile(bytes), agentTools)
  return { content: contentOfRow({ ...row, warnings }) }
}

async function fromArtifact(deps: Deps, workspaceId: string, artifactId: string): Promise<Origin> {
  const artifact = await findArtifact(deps.database.db, workspaceId, artifactId)
  if (!artifact) throw new ApiError('NOT_FOUND')
  if (artifact.type !== 'skill') {
    throw new ApiError('INVALID_INPUT', { message: `artifactId: a ${artifact.type}, not a skill` })
  }
  const bundle = toBundle('skill', await readBundle(deps, artifact.content_checksum))
  return fromBundle(deps, workspaceId, bundle, undefined)
}

async function fromRegistry(
  deps: Deps,
  { workspaceId, userId }: Principal,
  source: { registry: string; slug: string },
  signal: AbortSignal,
): Promise<Origin> {
  const fetching = { outbound: deps.outbound, userId }
  const { files, repository, commitHash } = await fetchRegistry(fetching, source, signal).catch(installFailed)
  return fromBundle(deps, workspaceId, toBundle('skill', files), { repository, commitHash })
}

/** The interface has one code for a registry that does not answer: the install failed. */
function installFailed(error: unknown): never {
  if (!(error instanceof ApiError) || error.code !== 'SERVICE_UNAVAILABLE') throw error
  throw new ApiError('INTERNAL_ERROR', { cause: error.cause })
}

export async function fromBundle(
  deps: Deps,
  workspaceId: string,
  bundle: Bundle,
  origin: SkillOrigin | undefined,
): Promise<Origin> {
  await requireArtifactRoom(deps.database.db, deps.config, workspaceId, bundle)
  const stored = await storeForWorkspace(deps, workspaceId, bundle)
  return { content: contentOf(bundle, stored, origin), stored }
}

type Source = BodyOf<typeof skillRoutes.install>['source']

/** The files that `POST /install` names, and where they are from. */
export async function fetchSource(
  deps: Deps,
  principal: Principal,
  source: Source,
  kind: 'skill' | 'workflow' | undefined,
  signal: AbortSignal,
) {
  if (source.type === 'git') {
    const { url, ref, path } = source
    const input = { url, ...(ref ? { ref } : {}), ...(path ? { path } : {}), ...(kind ? { kind } : {}) }
    const fetching = { outbound: deps.outbound, userId: principal.userId }
    const { files, repository, commitHash } = await fetchGit(fetching, input, signal)
    return { files, origin: { repository, commitHash, fromGit: true } as const }
  }
  const files = await failingAs('INTERNAL_ERROR', readImport(deps, principal.workspaceId, source))
  return { files, origin: undefined }
}

const archiveBytes = bundleLimits.bytes + 1_000_000

/** An archive that the operator laid into this workspace's import folder; no other place can be named. */
async function readImport(
  deps: Deps,
  workspaceId: string,
  { key, checksum }: { key: string; checksum?: string },
) {
  const name = bundlePath(key)
  if (name === undefined) throw new ApiError('INVALID_INPUT', { message: 'source: refused' })
  const bytes = await deps.storage.readImport(workspaceId, name, archiveBytes).catch((error) => {
    if (error instanceof TooLargeError)
      throw new ApiError('INVALID_INPUT', { message: 'source: too large', details: { limit: archiveBytes } })
    return storageAway(error)
  })
  if (!bytes) throw new ApiError('NOT_FOUND')
  if (checksum !== undefined && checksum !== sha256(bytes)) {
    throw new ApiError('INVALID_INPUT', { message: 'source.checksum: the content has another one' })
  }
  return unpack(bytes)
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
