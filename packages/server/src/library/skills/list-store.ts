import { type SqlBool, sql } from 'kysely'
import type { Db } from '#platform/database.ts'

/** Of a skill's instructions no more than their head, which a description at the head of the file fits into. */
const headCharacters = 20_000
/** Larger instructions are checked by nobody who cannot read them whole. */
const digestedBytes = 1024 * 1024

interface SkillSummary {
  readonly slug: string
  readonly name: string
  readonly description: string
  readonly filesCount: number
  readonly sizeBytes: number
  readonly head: string
  /** SHA-256 of the instructions, in hex. */
  readonly digest: string | null
}

/**
 * Skills without their instructions, which may have megabytes: those whose slug, name or description has every word, or the
 * one of a slug.
 */
export async function listSummaries(
  db: Db,
  workspaceId: string,
  asked: { readonly words?: readonly string[]; readonly slug?: string; limit: number; offset: number },
): Promise<SkillSummary[]> {
  const { words = [], slug, limit, offset } = asked
  let query = db
    .selectFrom('skills')
    .innerJoin('skill_versions', (join) =>
      join
        .onRef('skill_versions.skill_id', '=', 'skills.id')
        .onRef('skill_versions.version_number', '=', 'skills.latest_version'),
    )
    .innerJoin('bundles', 'bundles.checksum', 'skill_versions.bundle_checksum')
    .select([
      'skills.slug',
      'name',
      'description',
      'files_count as filesCount',
      sql<number>`octet_length(prompt)`.as('sizeBytes'),
      sql<string>`left(prompt, ${sql.lit(headCharacters)})`.as('head'),
      sql<string | null>`case when octet_length(prompt) <= ${sql.lit(digestedBytes)}
        then encode(sha256(convert_to(prompt, 'UTF8')), 'hex') end`.as('digest'),
    ])
    .where('skills.workspace_id', '=', workspaceId)
    .where('uninstalled_at', 'is', null)
  if (slug !== undefined) query = query.where('skills.slug', '=', slug)
  for (const word of words)
    query = query.where(
      sql<SqlBool>`strpos(lower(skills.slug || ' ' || name || ' ' || description), lower(${word})) > 0`,
    )
  return query.orderBy('skills.slug').limit(limit).offset(offset).execute()
}

/** Which of these are installed. */
export async function listInstalledAmong(
  db: Db,
  workspaceId: string,
  slugs: readonly string[],
): Promise<string[]> {
  if (slugs.length === 0) return []
  const rows = await db
    .selectFrom('skills')
    .select('slug')
    .where('workspace_id', '=', workspaceId)
    .where('slug', 'in', slugs)
    .where('uninstalled_at', 'is', null)
    .execute()
  return rows.map(({ slug }) => slug)
}
