import { sql } from 'kysely'
import { thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'

export interface NewVersion {
  bundle_checksum: string
  name: string
  description: string
  category: string
  prompt: string
  allowed_tools: string[]
  scopes: string[]
  repository: string | null
  commit_hash: string | null
  from_git: boolean
  warnings: string
  note: string | null
  created_by: string
}

const contentColumns = [
  'version_number',
  'bundle_checksum',
  'files_count',
  'name',
  'description',
  'category',
  'allowed_tools',
  'scopes',
  'repository',
  'commit_hash',
  'from_git',
  'warnings',
] as const

/** Instructions may have megabytes, so a list of many brings only short ones along; null for the others. */
const shortBytes = 32_768
const shortPrompt = sql<
  string | null
>`case when octet_length(prompt) <= ${sql.lit(shortBytes)} then prompt end`.as('prompt')

/** What a list left out. */
export async function findPrompt(db: Db, version: { skill_id: number; version_number: number }) {
  const { prompt } = await db
    .selectFrom('skill_versions')
    .select('prompt')
    .where('skill_id', '=', version.skill_id)
    .where('version_number', '=', version.version_number)
    .executeTakeFirstOrThrow()
  return prompt
}

/** A skill of the library with its live version. */
const liveColumns = ['skills.id as skill_id', 'skills.slug', ...contentColumns] as const

function liveSkills(db: Db, workspaceId: string) {
  return db
    .selectFrom('skills')
    .innerJoin('skill_versions', (join) =>
      join
        .onRef('skill_versions.skill_id', '=', 'skills.id')
        .onRef('skill_versions.version_number', '=', 'skills.latest_version'),
    )
    .innerJoin('bundles', 'bundles.checksum', 'skill_versions.bundle_checksum')
    .select(liveColumns)
    .where('skills.workspace_id', '=', workspaceId)
    .where('uninstalled_at', 'is', null)
}

export type LiveSkill = NonNullable<Awaited<ReturnType<typeof findSkill>>>

export async function findSkill(db: Db, workspaceId: string, slug: string) {
  return liveSkills(db, workspaceId).select('prompt').where('skills.slug', '=', slug).executeTakeFirst()
}

export async function listSkills(db: Db, workspaceId: string, page: { limit: number; offset: number }) {
  // What is skipped is skipped in the index alone; only the rows of the page itself are joined.
  const slugs = db
    .selectFrom('skills')
    .select('slug')
    .where('workspace_id', '=', workspaceId)
    .where('uninstalled_at', 'is', null)
    .orderBy('slug')
    .limit(page.limit)
    .offset(page.offset)
  return liveSkills(db, workspaceId)
    .select(shortPrompt)
    .innerJoin(slugs.as('page'), 'page.slug', 'skills.slug')
    .orderBy('skills.slug')
    .execute()
}

export async function listSkillsAfter(db: Db, workspaceId: string, after: string, limit: number) {
  return liveSkills(db, workspaceId)
    .select(shortPrompt)
    .where('skills.slug', '>', after)
    .orderBy('skills.slug')
    .limit(limit)
    .execute()
}

export async function countSkills(db: Db, workspaceId: string): Promise<number> {
  const { count } = await db
    .selectFrom('skills')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .where('uninstalled_at', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}

/**
 * Takes the next number of a skill and makes its version, in that order: whoever writes the same skill waits at the
 * skill's row, so numbers have no gaps and the highest is always the one that was committed last.
 */
export async function insertVersion(tx: Tx, workspaceId: string, slug: string, version: NewVersion) {
  const skill = await tx
    .insertInto('skills')
    .values({ workspace_id: workspaceId, slug, latest_version: 1 })
    .onConflict((conflict) =>
      conflict
        .columns(['workspace_id', 'slug'])
        .doUpdateSet({ latest_version: sql`skills.latest_version + 1`, uninstalled_at: null }),
    )
    .returning(['id', 'latest_version'])
    .executeTakeFirstOrThrow()
  await tx
    .insertInto('skill_versions')
    .values({
      workspace_id: workspaceId,
      skill_id: skill.id,
      version_number: skill.latest_version,
      ...version,
    })
    .execute()
  return skill.latest_version
}

/** Undefined when it is not installed. */
export async function claimUninstall(tx: Tx, workspaceId: string, slug: string) {
  return tx
    .updateTable('skills')
    .set({ uninstalled_at: thisMoment })
    .where('workspace_id', '=', workspaceId)
    .where('slug', '=', slug)
    .where('uninstalled_at', 'is', null)
    .returning('id')
    .executeTakeFirst()
}

const versionColumns = [
  'skill_versions.id',
  'skill_versions.workspace_id',
  'skill_id',
  ...contentColumns,
  'note',
  'created_by',
  'created_at',
  'latest_version',
] as const

function versionsOf(db: Db, workspaceId: string, slug: string) {
  return db
    .selectFrom('skills')
    .innerJoin('skill_versions', 'skill_versions.skill_id', 'skills.id')
    .innerJoin('bundles', 'bundles.checksum', 'skill_versions.bundle_checksum')
    .select(versionColumns)
    .where('skills.workspace_id', '=', workspaceId)
    .where('slug', '=', slug)
    .where('uninstalled_at', 'is', null)
}

export type VersionRow = NonNullable<Awaited<ReturnType<typeof findVersion>>>

export async function findVersion(db: Db, workspaceId: string, slug: string, versionNumber: number) {
  return versionsOf(db, workspaceId, slug)
    .select('prompt')
    .where('version_number', '=', versionNumber)
    .executeTakeFirst()
}

/** Those below the given number, newest first. */
export async function listVersions(
  db: Db,
  workspaceId: string,
  slug: string,
  page: { below: number; limit: number },
) {
  return versionsOf(db, workspaceId, slug)
    .select(shortPrompt)
    .where('version_number', '<', page.below)
    .orderBy('version_number', 'desc')
    .limit(page.limit)
    .execute()
}

/** Holds a skill, installed or not, against whoever writes it too. */
export async function lockSkill(tx: Tx, workspaceId: string, slug: string): Promise<void> {
  await tx
    .selectFrom('skills')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('slug', '=', slug)
    .forUpdate()
    .execute()
}

/** Ends at once with an error when somebody else holds it. */
export async function lockSkillAtOnce(db: Db, workspaceId: string, slug: string): Promise<void> {
  await db
    .selectFrom('skills')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('slug', '=', slug)
    .forShare()
    .noWait()
    .execute()
}
