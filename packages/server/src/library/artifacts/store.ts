import { type Insertable, sql } from 'kysely'
import { secondsAgo, thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { BlobRef } from '#platform/storage.ts'
import type { Tables } from '#platform/tables.ts'

/**
 * Before bytes are written: whoever sweeps at this moment is waited for, and leaves this content alone from then on. Gives
 * the generation of each by its checksum; what was swept has a new one.
 */
export async function touchBlobs(
  db: Db,
  blobs: readonly { checksum: string; size_bytes: number }[],
): Promise<Map<string, number | null>> {
  // In one order, so that two bundles with common files never wait for each other.
  const sorted = [...new Map(blobs.map((blob) => [blob.checksum, blob])).values()].sort((a, b) =>
    a.checksum < b.checksum ? -1 : 1,
  )
  const generation = sql<number>`nextval('blob_generations')`
  const touched = await db
    .insertInto('blobs')
    .values(sorted.map((blob) => ({ ...blob, generation })))
    .onConflict((conflict) => conflict.column('checksum').doUpdateSet({ touched_at: thisMoment }))
    .returning(['checksum', 'generation'])
    .execute()
  return new Map(touched.map(({ checksum, generation }) => [checksum, generation]))
}

export interface ArtifactFile {
  path: string
  size_bytes: number
  checksum: string
}

/** With what its content is called in the store. */
export type StoredRow = ArtifactFile & BlobRef

export interface NewBundle {
  checksum: string
  files_count: number
  size_bytes: number
}

/** Also a bundle that is there is touched: its row is held until who refers to it has done so. */
export async function insertBundle(tx: Tx, bundle: NewBundle, files: readonly ArtifactFile[]): Promise<void> {
  const { isNew } = await tx
    .insertInto('bundles')
    .values(bundle)
    .onConflict((conflict) => conflict.column('checksum').doUpdateSet({ touched_at: thisMoment }))
    .returning(sql<boolean>`xmax = 0`.as('isNew'))
    .executeTakeFirstOrThrow()
  if (!isNew) return
  await tx
    .insertInto('bundle_files')
    .values(files.map((file) => ({ bundle_checksum: bundle.checksum, ...file })))
    .execute()
}

/** Undefined when a sweep has taken it away. */
export async function claimBundle(tx: Db, checksum: string) {
  return tx
    .updateTable('bundles')
    .set({ touched_at: thisMoment })
    .where('checksum', '=', checksum)
    .returning('checksum')
    .executeTakeFirst()
}

export async function listBundleFiles(db: Db, bundleChecksum: string): Promise<StoredRow[]> {
  return db
    .selectFrom('bundle_files')
    .innerJoin('blobs', 'blobs.checksum', 'bundle_files.checksum')
    .select(['path', 'bundle_files.size_bytes', 'bundle_files.checksum', 'generation'])
    .where('bundle_checksum', '=', bundleChecksum)
    .orderBy(sql`path collate "C"`)
    .execute()
}

export async function insertArtifact(tx: Tx, row: Insertable<Tables['artifacts']>): Promise<string> {
  const { created_at } = await tx
    .insertInto('artifacts')
    .values(row)
    // Only by a second try after an answer that was lost: the id is random.
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ slug: row.slug }))
    .returning('created_at')
    .executeTakeFirstOrThrow()
  return created_at
}

/** Kept by triggers, so that no upload has to add up what is there. */
export async function findArtifactUsage(db: Db, workspaceId: string) {
  const usage = await db
    .selectFrom('artifact_usage')
    .select(['bytes', 'files'])
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
  return usage ?? { bytes: 0, files: 0 }
}

interface Writing {
  readonly bytes: number
  readonly files: number
}

/** Counts what is about to be written to this hour; false, and nothing counted, when it would be more than the most. */
export async function claimWriting(db: Db, workspaceId: string, { bytes, files }: Writing, most: Writing) {
  const { rows } = await sql`
    insert into artifact_usage as u (workspace_id, bytes, files, written_bytes, written_files, written_hour)
    values (${workspaceId}, 0, 0, ${bytes}, ${files}, date_trunc('hour', guild_now()))
    on conflict (workspace_id) do update set
      written_bytes = excluded.written_bytes
        + case when u.written_hour = excluded.written_hour then u.written_bytes else 0 end,
      written_files = excluded.written_files
        + case when u.written_hour = excluded.written_hour then u.written_files else 0 end,
      written_hour = excluded.written_hour
    where u.written_hour <> excluded.written_hour
      or (u.written_bytes + excluded.written_bytes <= ${most.bytes}
        and u.written_files + excluded.written_files <= ${most.files})
    returning 1`.execute(db)
  return rows.length > 0
}

/** Those of the content that were written, or wanted again, within this hour. */
export async function listBlobsOfHour(db: Db, checksums: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom('blobs')
    .select('checksum')
    .where('checksum', 'in', checksums)
    .where('touched_at', '>=', sql<string>`date_trunc('hour', guild_now())`)
    .execute()
  return rows.map(({ checksum }) => checksum)
}

const columns = [
  'id',
  'type',
  'slug',
  'name',
  'description',
  'files_count',
  'size_bytes',
  'content_checksum',
  'created_by',
  'created_at',
] as const

export type ArtifactRow = NonNullable<Awaited<ReturnType<typeof findArtifact>>>

export async function findArtifact(db: Db, workspaceId: string, id: string) {
  return db
    .selectFrom('artifacts')
    .select(columns)
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Undefined unless an execution of this key has left it. */
export async function findOutput(db: Db, workspaceId: string, id: string, keyId: number) {
  return db
    .selectFrom('artifacts')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .where('output_of_key', '=', keyId)
    .executeTakeFirst()
}

export async function isMadeBy(db: Db, workspaceId: string, id: string, keyId: number): Promise<boolean> {
  const made = await db
    .selectFrom('artifacts')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .where('api_key_id', '=', keyId)
    .executeTakeFirst()
  return made !== undefined
}

export async function listArtifacts(
  db: Db,
  workspaceId: string,
  page: {
    type: ArtifactRow['type'] | undefined
    limit: number
    after: { createdAt: string; id: string } | undefined
  },
) {
  let query = db
    .selectFrom('artifacts')
    .select(columns)
    .where('workspace_id', '=', workspaceId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit)
  if (page.type) query = query.where('type', '=', page.type)
  if (page.after) {
    const { createdAt, id } = page.after
    query = query.where((e) => e(e.refTuple('created_at', 'id'), '<', e.tuple(createdAt, id)))
  }
  return query.execute()
}

export async function listFiles(db: Db, workspaceId: string, artifactId: string): Promise<StoredRow[]> {
  return db
    .selectFrom('bundle_files')
    .innerJoin('artifacts', 'artifacts.content_checksum', 'bundle_files.bundle_checksum')
    .innerJoin('blobs', 'blobs.checksum', 'bundle_files.checksum')
    .select(['path', 'bundle_files.size_bytes', 'bundle_files.checksum', 'generation'])
    .where('workspace_id', '=', workspaceId)
    .where('artifacts.id', '=', artifactId)
    .orderBy('path')
    .execute()
}

/** Undefined when there was nothing to remove. */
export async function deleteArtifact(db: Db, workspaceId: string, id: string) {
  return db
    .deleteFrom('artifacts')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .returning(['id', 'type', 'slug', 'name'])
    .executeTakeFirst()
}

/**
 * Bundles that nothing refers to any more. A table that is forgotten here cannot lose its bundle: its foreign key
 * stops the whole sweep.
 */
export async function deleteUnreferencedBundles(
  tx: Tx,
  graceSeconds: number,
  limit: number,
): Promise<number> {
  const result = await sql<{ checksum: string }>`
    delete from bundles where checksum in (
      select checksum from bundles b
      where touched_at <= ${secondsAgo(graceSeconds)}
        and not exists (select from artifacts where content_checksum = b.checksum)
        and not exists (select from skill_versions where bundle_checksum = b.checksum)
        and not exists (select from executions where bundle_checksum = b.checksum)
        and not exists (select from executions where attachments_checksum = b.checksum)
        and not exists (select from catalog_skills where bundle_checksum = b.checksum)
        and not exists (select from workflows where bundle_checksum = b.checksum)
      order by touched_at limit ${limit} for update skip locked)
    returning checksum`.execute(tx)
  return result.rows.length
}

/** Content that nothing refers to and nobody has written for a while: its row goes, and its name is written down. */
export async function moveUnreferencedBlobs(tx: Tx, graceSeconds: number, limit: number): Promise<void> {
  await sql`
    with gone as (
      delete from blobs where checksum in (
        select checksum from blobs b
        where touched_at <= ${secondsAgo(graceSeconds)}
          and not exists (select from bundle_files where checksum = b.checksum)
        order by touched_at limit ${limit} for update skip locked)
      returning checksum, generation)
    insert into blobs_gone (checksum, generation) select checksum, generation from gone
    on conflict do nothing`.execute(tx)
}

export async function listGone(db: Db, limit: number): Promise<BlobRef[]> {
  return db.selectFrom('blobs_gone').select(['checksum', 'generation']).limit(limit).execute()
}

export async function deleteGone(db: Db, gone: readonly BlobRef[]): Promise<void> {
  await sql`
    delete from blobs_gone g using unnest(
      ${gone.map(({ checksum }) => checksum)}::text[], ${gone.map(({ generation }) => generation)}::bigint[])
      d (checksum, generation)
    where g.checksum = d.checksum and g.generation is not distinct from d.generation`.execute(db)
}
