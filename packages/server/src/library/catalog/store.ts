import { type Selectable, type SqlBool, sql } from 'kysely'
import type { Db, HotStatement, Tx } from '#platform/database.ts'
import type { Tables } from '#platform/tables.ts'

export type CatalogRow = Selectable<Tables['catalog_skills']>

const itemColumns = [
  'catalog_skills.slug',
  'catalog_skills.name',
  'catalog_skills.description',
  'catalog_skills.category',
  'catalog_skills.repository',
] as const

type CatalogItem = Pick<CatalogRow, 'slug' | 'name' | 'description' | 'category' | 'repository'>

/** Asked by every request for a whole list, to learn whether the prepared one is still right. */
export const findRevisionStatement: HotStatement = {
  name: 'find-catalog-revision',
  text: 'select revision from catalog_state',
}

export async function findRevision(db: Db): Promise<number> {
  const { revision } = await db.selectFrom('catalog_state').select('revision').executeTakeFirstOrThrow()
  return revision
}

/** One state of the catalog for several statements, whatever is synced meanwhile. */
export async function inSnapshot<T>(db: Db, read: (tx: Tx) => Promise<T>): Promise<T> {
  return db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(read)
}

export async function listItems(
  db: Db,
  page: { category: string | undefined; limit: number; offset: number },
): Promise<CatalogItem[]> {
  // What is skipped is skipped in the index alone; only the rows of the page itself are read.
  let slugs = db.selectFrom('catalog_skills').select('slug').orderBy('slug')
  if (page.category !== undefined) slugs = slugs.where('category', '=', page.category)
  return db
    .selectFrom(slugs.limit(page.limit).offset(page.offset).as('page'))
    .innerJoin('catalog_skills', 'catalog_skills.slug', 'page.slug')
    .select(itemColumns)
    .orderBy('catalog_skills.slug')
    .execute()
}

export async function listItemsAfter(
  db: Db,
  page: { category: string | undefined; after: string; limit: number },
): Promise<CatalogItem[]> {
  let query = db
    .selectFrom('catalog_skills')
    .select(itemColumns)
    .where('slug', '>', page.after)
    .orderBy('slug')
    .limit(page.limit)
  if (page.category !== undefined) query = query.where('category', '=', page.category)
  return query.execute()
}

/** Ranking reads every row that matches; of a word that thousands have, the first ones stand for all. */
const mostRanked = 2000

export async function listFound(
  db: Db,
  page: { q: string; category: string | undefined; limit: number; offset: number },
): Promise<CatalogItem[]> {
  const asked = sql`websearch_to_tsquery('english', ${page.q})`
  let matching = db
    .selectFrom('catalog_skills')
    .select([...itemColumns, sql<number>`ts_rank(search, ${asked})`.as('rank')])
    .where(sql<SqlBool>`search @@ ${asked}`)
    .limit(mostRanked)
  if (page.category !== undefined) matching = matching.where('category', '=', page.category)
  return db
    .selectFrom(matching.as('found'))
    .select(['slug', 'name', 'description', 'category', 'repository'])
    .orderBy('rank', 'desc')
    .orderBy('slug')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
}

export async function findCatalogSkill(db: Db, slug: string) {
  return db
    .selectFrom('catalog_skills')
    .innerJoin('bundles', 'bundles.checksum', 'catalog_skills.bundle_checksum')
    .select([
      ...itemColumns,
      'commit_hash',
      'bundle_checksum',
      'prompt',
      'author',
      'version',
      'allowed_tools',
      'scopes',
      'files_count',
    ])
    .where('slug', '=', slug)
    .executeTakeFirst()
}

export async function listCategories(db: Db): Promise<{ id: string; count: number }[]> {
  return db.selectFrom('catalog_categories').select(['id', 'count']).orderBy('id').execute()
}

/** First thing in a sync: who comes second waits, and then sees what the first one did. */
export async function lockRevision(tx: Tx): Promise<number> {
  const { revision } = await tx
    .selectFrom('catalog_state')
    .select('revision')
    .forUpdate()
    .executeTakeFirstOrThrow()
  return revision
}

/** Which of these slugs belong to another source. */
export async function listTaken(tx: Tx, source: string, slugs: readonly string[]): Promise<string[]> {
  const rows = await tx
    .selectFrom('catalog_skills')
    .select('slug')
    .where(sql<SqlBool>`slug = any(${slugs}::text[])`)
    .where('source', '<>', source)
    .execute()
  return rows.map(({ slug }) => slug)
}

/** Removes what a source no longer has. */
export async function deleteOthers(tx: Tx, source: string, slugs: readonly string[]): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('catalog_skills')
    .where('source', '=', source)
    .where(sql<SqlBool>`slug <> all(${slugs}::text[])`)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

const rowsAtOnce = 500
const contentColumns = [
  'repository',
  'commit_hash',
  'bundle_checksum',
  'name',
  'description',
  'category',
  'prompt',
  'author',
  'version',
  'allowed_tools',
  'scopes',
] as const

const contentOf = (table: string) =>
  sql`(${sql.join(contentColumns.map((column) => sql.ref(`${table}.${column}`)))})`

/** Writes rows that are new or differ from what is there, and tells how many those were. */
export async function insertSkills(tx: Tx, rows: readonly CatalogRow[]): Promise<number> {
  let written = 0
  for (let at = 0; at < rows.length; at += rowsAtOnce) {
    const result = await tx
      .insertInto('catalog_skills')
      .values(rows.slice(at, at + rowsAtOnce))
      .onConflict((conflict) =>
        conflict
          .column('slug')
          .doUpdateSet((e) =>
            Object.fromEntries(contentColumns.map((column) => [column, e.ref(`excluded.${column}`)])),
          )
          .where(sql<SqlBool>`${contentOf('catalog_skills')} is distinct from ${contentOf('excluded')}`),
      )
      .executeTakeFirst()
    written += Number(result.numInsertedOrUpdatedRows ?? 0)
  }
  return written
}

export async function updateCategories(tx: Tx): Promise<void> {
  await tx.deleteFrom('catalog_categories').execute()
  await tx
    .insertInto('catalog_categories')
    .columns(['id', 'count'])
    .expression((e) =>
      e
        .selectFrom('catalog_skills')
        .select(['category as id', e.cast<number>(e.fn.countAll(), 'integer').as('count')])
        .groupBy('category'),
    )
    .execute()
}

export async function updateRevision(tx: Tx): Promise<number> {
  const { revision } = await tx
    .updateTable('catalog_state')
    .set((e) => ({ revision: e('revision', '+', 1) }))
    .returning('revision')
    .executeTakeFirstOrThrow()
  return revision
}
