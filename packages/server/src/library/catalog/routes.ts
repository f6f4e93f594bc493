import { marketplaceRoutes } from '@guildhall/contract'
import { zipBundle } from '#library/artifacts/artifacts.ts'
import { bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { walkPages } from '#operations/page.ts'
import type { Db } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { categoryName } from './entry.ts'
import { createPreparedLists } from './prepared-lists.ts'
import { syncRepository } from './repository.ts'
import * as store from './store.ts'

/** A search is answered by rank, so it ends somewhere even when nobody says where. */
const mostFound = 1000
const readAtOnce = 1000

export function catalogFeature({ database }: Pick<Deps, 'database'>): Feature {
  const wholeList = createPreparedLists(database)
  const routes = bindRoutes(marketplaceRoutes, {
    listMarketplaceSkills: async ({ query: { q, category, limit, offset = 0 }, deps }) => {
      const { db } = deps.database
      if (q !== undefined) {
        return { value: await store.listFound(db, { q, category, limit: limit ?? mostFound, offset }) }
      }
      if (limit === undefined && offset === 0) return { prepared: await wholeList(category) }
      if (limit === undefined) return { items: walkFrom(db, category, offset) }
      return { value: await store.listItems(db, { category, limit, offset }) }
    },

    listMarketplaceCategories: async ({ deps }) => {
      const categories = await store.listCategories(deps.database.db)
      return categories.map(({ id, count }) => ({ id, name: categoryName(id), count }))
    },

    getMarketplaceSkill: async ({ params, deps }) => {
      const { commit_hash, files_count, bundle_checksum, ...skill } = await requireSkill(
        deps.database.db,
        params.slug,
      )
      return {
        ...skill,
        commitHash: commit_hash,
        filesCount: files_count,
        contentChecksum: bundle_checksum,
      }
    },

    getMarketplaceBundle: async ({ params, deps }) => {
      const { slug, bundle_checksum, commit_hash } = await requireSkill(deps.database.db, params.slug)
      return {
        ...(await zipBundle(deps, bundle_checksum, slug)),
        contentType: 'application/zip',
        fileName: `${slug}.zip`,
        headers: { 'x-commit-hash': commit_hash },
      }
    },

    syncCatalog: async ({ body, deps, signal }) => {
      const report = await syncRepository(
        deps,
        { url: body.repository, ref: body.ref, path: body.path },
        signal,
      )
      deps.logger.info(report, 'the operator synced a repository into the catalog')
      return report
    },
  })
  return { routes }
}

/** From somewhere to the end: counted once, and from there on by slug. */
async function* walkFrom(db: Db, category: string | undefined, offset: number) {
  const first = await store.listItems(db, { category, limit: readAtOnce, offset })
  yield* first
  const last = first.at(-1)
  if (!last || first.length < readAtOnce) return
  const page = (after: string, limit: number) => store.listItemsAfter(db, { category, after, limit })
  const pages = { start: last.slug, size: readAtOnce }
  yield* walkPages(
    pages,
    page,
    ({ slug }) => slug,
    (item) => item,
  )
}

async function requireSkill(db: Db, slug: string) {
  const row = await store.findCatalogSkill(db, slug)
  if (!row) throw new ApiError('NOT_FOUND')
  return row
}
