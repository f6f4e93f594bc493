import { createHash, randomUUID } from 'node:crypto'
import { anySkill } from '@guildhall/contract'
import type { Access } from '#operations/access.ts'
import type { Principal } from '#operations/principal.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { blobName } from '#platform/storage.ts'
import { contentChecksum } from './bundle.ts'
import { readContent } from './content.ts'
import { claimWriting, type Quotas, requireArtifactRoom } from './quota.ts'
import * as store from './store.ts'
import { storageAway } from './store-away.ts'
import { type BundleFile, unpack } from './unpack.ts'

export { arrangeFiles, type Bundle, decodeBase64, toBundle } from './bundle.ts'
export { bundlePath, chooseForBundle } from './bundle-path.ts'
export { givenFiles } from './given-files.ts'
export { isQuotaExceeded, requireArtifactRoom } from './quota.ts'
export { readSkillFile, type SkillFile } from './skill-file.ts'
export { claimBundle, findArtifact, listBundleFiles } from './store.ts'
export { failingAs, storageAway } from './store-away.ts'
export { listTouchedArtifacts } from './touched-store.ts'
export { zipBundle } from './zip.ts'
export { type BundleFile, unpack }

export interface StoredFile {
  path: string
  sizeBytes: number
  checksum: string
}

/** Files whose bytes are in the store, not yet referred to. */
export interface StoredBundle {
  files: StoredFile[]
  checksum: string
  sizeBytes: number
}

/**
 * Writes those of a bundle's bytes that are not there yet, before the transaction that refers to them. If that never
 * comes, the sweep removes them after its grace time; until then they are in nobody's way.
 */
export async function storeFiles(
  { database, storage }: Pick<Deps, 'database' | 'storage'>,
  bundle: { readonly files: readonly (BundleFile | StoredFile)[]; readonly sizeBytes: number },
  claim: (files: readonly StoredFile[]) => Promise<void> = async () => {},
): Promise<StoredBundle> {
  const files = bundle.files.map((file) => {
    if ('checksum' in file) return { stored: file }
    const checksum = createHash('sha256').update(file.bytes).digest('hex')
    return { stored: { path: file.path, sizeBytes: file.bytes.length, checksum }, bytes: file.bytes }
  })
  const stored = files.map((file) => file.stored)
  await claim(stored)
  const generations = await store.touchBlobs(
    database.db,
    stored.map(({ checksum, sizeBytes }) => ({ checksum, size_bytes: sizeBytes })),
  )
  for (const { bytes, stored } of files) {
    if (!bytes) continue
    const generation = generations.get(stored.checksum) ?? null
    const written = storage
      .has(blobName({ ...stored, generation }))
      .then((there) => (there ? undefined : storage.put(bytes, { maxBytes: bytes.length, generation })))
    await written.catch(storageAway)
  }
  return { files: stored, checksum: contentChecksum(stored), sizeBytes: bundle.sizeBytes }
}

/** The same for a workspace, to whose hour it counts. */
export async function storeForWorkspace(
  deps: Pick<Deps, 'database' | 'storage' | 'config'>,
  workspaceId: string,
  bundle: Parameters<typeof storeFiles>[1],
): Promise<StoredBundle> {
  return storeFiles(deps, bundle, (files) => claimWriting(deps.database.db, deps.config, workspaceId, files))
}

/**
 * The files of a bundle that is going to be referred to once more, by parts or whole. Kept for the sweep's grace time from
 * here on; undefined when the sweep has taken it away.
 */
export async function claimStoredFiles(db: Db, bundleChecksum: string): Promise<StoredFile[] | undefined> {
  if (!(await store.claimBundle(db, bundleChecksum))) return undefined
  const files = await store.listBundleFiles(db, bundleChecksum)
  return files.map(({ path, size_bytes: sizeBytes, checksum }) => ({ path, sizeBytes, checksum }))
}

/** First thing in a transaction that is going to refer to the bundle: from here on no sweep takes it away. */
export async function keepBundle(tx: Tx, { files, checksum, sizeBytes }: StoredBundle): Promise<void> {
  await store.insertBundle(
    tx,
    { checksum, files_count: files.length, size_bytes: sizeBytes },
    files.map((file) => ({ path: file.path, size_bytes: file.sizeBytes, checksum: file.checksum })),
  )
}

/** Every file of a bundle with its content, for who runs or compares it. */
export async function readBundle(
  deps: Pick<Deps, 'database' | 'storage'>,
  bundleChecksum: string,
): Promise<BundleFile[]> {
  return readFiles(deps, await store.listBundleFiles(deps.database.db, bundleChecksum))
}

export async function readFiles(
  { storage }: Pick<Deps, 'storage'>,
  files: Awaited<ReturnType<typeof store.listBundleFiles>>,
): Promise<BundleFile[]> {
  const read = []
  for (const file of files) read.push({ path: file.path, bytes: await readContent({ storage }, file) })
  return read
}

export function newArtifactId(): string {
  return `artifact_${randomUUID()}`
}

interface NewArtifact {
  /** Given by whoever may have to try again. */
  id?: string
  type: 'skill' | 'workflow' | 'file'
  slug: string
  name: string
  description: string
  /** The key whose execution leaves this as its output. */
  outputOfKey?: number | null
}

export async function createArtifact(
  tx: Tx,
  config: Quotas,
  principal: Pick<Principal, 'workspaceId' | 'userId' | 'apiKeyId'>,
  { id = newArtifactId(), outputOfKey = null, ...artifact }: NewArtifact,
  bundle: StoredBundle,
) {
  await keepBundle(tx, bundle)
  const row = {
    id,
    workspace_id: principal.workspaceId,
    ...artifact,
    files_count: bundle.files.length,
    size_bytes: bundle.sizeBytes,
    content_checksum: bundle.checksum,
    created_by: principal.userId,
    output_of_key: outputOfKey,
    api_key_id: principal.apiKeyId,
  }
  const createdAt = await store.insertArtifact(tx, row)
  // After the insert, which holds the workspace's counters until the end: of uploads at once none is overlooked.
  await requireArtifactRoom(tx, config, principal.workspaceId)
  return { ...row, created_at: createdAt }
}

/**
 * A key reads the outputs of what it started by its right to run skills; all else needs the scope for files, and is asked
 * for before anything is told about it.
 */
export async function requireReadable(
  { principal, access, deps }: { principal: Principal; access: Access; deps: Pick<Deps, 'database'> },
  artifactId: string,
): Promise<void> {
  const { apiKeyId, workspaceId } = principal
  const mayBeOwn = apiKeyId !== null && (await access.holds(anySkill))
  if (mayBeOwn && (await store.findOutput(deps.database.db, workspaceId, artifactId, apiKeyId))) return
  await access.require(['workspace:files:read'])
}

/**
 * To name an artifact in a request is to have it read: what is installed can be looked at, what is attached is told to a
 * model. A key may name what it has made itself, and all else with the scope for reading.
 */
export async function requireNameable(
  call: Parameters<typeof requireReadable>[0],
  artifactId: string,
): Promise<void> {
  const { apiKeyId, workspaceId } = call.principal
  const { db } = call.deps.database
  if (apiKeyId !== null && (await store.isMadeBy(db, workspaceId, artifactId, apiKeyId))) return
  await requireReadable(call, artifactId)
}

const graceSeconds = 3600
const sweptAtOnce = 500

/**
 * Removes content that nothing refers to. Its row goes first, and with it the name: whoever wants the content from then on
 * stores it under another one. So it does not matter when a delete arrives, and one that a process did not come to is
 * made up for by the next sweep.
 */
export async function sweepBlobs(deps: Pick<Deps, 'database' | 'storage'>): Promise<number> {
  // Before more is added to it: of a store that is away no more is asked than it was at first.
  const earlier = await deleteGone(deps)
  await deps.database.transaction(async (tx) => {
    await store.deleteUnreferencedBundles(tx, graceSeconds, sweptAtOnce)
    await store.moveUnreferencedBlobs(tx, graceSeconds, sweptAtOnce)
  })
  return earlier + (await deleteGone(deps))
}

async function deleteGone({ database, storage }: Pick<Deps, 'database' | 'storage'>): Promise<number> {
  const gone = await store.listGone(database.db, sweptAtOnce)
  if (gone.length === 0) return 0
  await storage.delete(gone.map(blobName))
  await store.deleteGone(database.db, gone)
  return gone.length
}
