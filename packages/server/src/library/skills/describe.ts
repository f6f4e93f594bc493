import type { BodyOf, skillRoutes } from '@guildhall/contract'
import type { BundleFile } from '#library/artifacts/artifacts.ts'
import type { Db } from '#platform/database.ts'
import type { SkillContent } from './skills.ts'
import * as store from './store.ts'

/** Long instructions are read one at a time, when it is their turn in a list. */
export async function withPrompt<
  Row extends Parameters<typeof store.findPrompt>[1] & { prompt: string | null },
>(db: Db, row: Row) {
  return { ...row, prompt: row.prompt ?? (await store.findPrompt(db, row)) }
}

function describeBundle({ bundle_checksum, files_count }: { bundle_checksum: string; files_count: number }) {
  return {
    contentChecksum: bundle_checksum,
    bundleType: files_count === 1 ? 'file' : 'folder',
    storagePath: `bundles/${bundle_checksum}`,
  }
}

/** `repository` and `commitHash` are for what came from a catalog. */
function describeOrigin({ repository, commit_hash: commitHash, from_git }: store.LiveSkill) {
  if (repository === null || commitHash === null) return {}
  return from_git ? { fetchedFrom: { repository, commitHash } } : { repository, commitHash }
}

export function describeSkill(row: store.LiveSkill) {
  return {
    name: row.name,
    slug: row.slug,
    description: row.description,
    category: row.category,
    prompt: row.prompt,
    ...describeBundle(row),
    ...describeOrigin(row),
    filesCount: row.files_count,
    versionNumber: row.version_number,
    warnings: row.warnings,
  }
}

export function describeVersion(row: store.VersionRow) {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    skillId: row.skill_id,
    versionNumber: row.version_number,
    ...describeBundle(row),
    prompt: row.prompt,
    name: row.name,
    description: row.description,
    createdBy: row.created_by,
    note: row.note,
    createdAt: row.created_at,
    active: row.version_number === row.latest_version,
  }
}

export function kindOf(files: readonly BundleFile[]): 'skill' | 'workflow' {
  const has = (name: string) => files.some(({ path }) => path === name || path.endsWith(`/${name}`))
  return has('workflow.json') && !has('SKILL.md') ? 'workflow' : 'skill'
}

export function withOverrides(
  content: SkillContent,
  { name, description, category }: Overrides,
): SkillContent {
  return {
    ...content,
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(category === undefined ? {} : { category }),
  }
}

type Overrides = Pick<BodyOf<typeof skillRoutes.installSkill>, 'name' | 'description' | 'category'>
