import { keepBundle, type StoredBundle, storeFiles } from '#library/artifacts/artifacts.ts'
import { ApiError } from '#operations/errors.ts'
import type { Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { type CatalogSource, type SkillFolder, sourceId, toEntry } from './entry.ts'
import * as store from './store.ts'

/** A folder that did not go in, and why. */
interface Skipped {
  path: string
  reason: string
}

export interface SyncReport {
  repository: string
  commitHash: string
  /** Of the catalog; as before when nothing changed. */
  revision: number
  /** How many skills of this source the catalog has now. */
  skills: number
  written: number
  removed: number
  skipped: Skipped[]
}

interface Prepared {
  path: string
  row: store.CatalogRow
  bundle: StoredBundle
}

/**
 * Makes the catalog hold exactly these skills of a source. Bytes are written first; then one transaction changes what
 * differs, so that readers see the state before or the state after. The same folders again change nothing. A slug
 * belongs to the source that came first with it.
 */
export async function syncCatalog(
  deps: Pick<Deps, 'database' | 'storage'>,
  source: CatalogSource,
  folders: readonly SkillFolder[],
): Promise<SyncReport> {
  const prepared = new Map<string, Prepared>()
  const skipped: Skipped[] = []
  for (const folder of folders) {
    const { path } = folder
    const skill = await prepare(deps, source, folder).catch((error) => {
      if (!(error instanceof ApiError) || error.code !== 'INVALID_INPUT') throw error
      return error.message
    })
    if (typeof skill === 'string') skipped.push({ path, reason: skill })
    else if (prepared.has(skill.row.slug)) skipped.push(clash(skill))
    else prepared.set(skill.row.slug, skill)
  }
  const change = await deps.database.transaction((tx) => replace(tx, sourceId(source), prepared))
  const { repository, commitHash } = source
  return { repository, commitHash, ...change, skipped: [...skipped, ...change.skipped] }
}

async function prepare(
  deps: Pick<Deps, 'database' | 'storage'>,
  source: CatalogSource,
  folder: SkillFolder,
): Promise<Prepared> {
  const { bundle, row } = toEntry(source, folder)
  const stored = await storeFiles(deps, bundle)
  return { path: folder.path, bundle: stored, row: { ...row, bundle_checksum: stored.checksum } }
}

async function replace(tx: Tx, source: string, prepared: ReadonlyMap<string, Prepared>) {
  const revision = await store.lockRevision(tx)
  const taken = await store.listTaken(tx, source, [...prepared.keys()])
  const own = new Map(prepared)
  for (const slug of taken) own.delete(slug)
  for (const { bundle } of own.values()) await keepBundle(tx, bundle)
  const removed = await store.deleteOthers(tx, source, [...own.keys()])
  const written = await store.insertSkills(
    tx,
    [...own.values()].map(({ row }) => row),
  )
  const changed = removed + written > 0
  if (changed) await store.updateCategories(tx)
  return {
    revision: changed ? await store.updateRevision(tx) : revision,
    skills: own.size,
    written,
    removed,
    skipped: taken.flatMap((slug) => prepared.get(slug) ?? []).map(clash),
  }
}

function clash({ path, row }: Prepared): Skipped {
  return { path, reason: `Another skill of the catalog is called ${row.slug}` }
}
