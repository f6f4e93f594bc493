import { isSlug, skillsPerWorkspace } from '@guildhall/contract'
import { recordActivity } from '#accounts/activity/activity.ts'
import { executionRunning, lockWorkspace, shareSlot } from '#accounts/workspaces/workspaces.ts'
import {
  type Bundle,
  claimBundle,
  keepBundle,
  readSkillFile,
  requireArtifactRoom,
  type StoredBundle,
} from '#library/artifacts/artifacts.ts'
import { lintSkill } from '#library/sources/sources.ts'
import type { Actor } from '#operations/actor.ts'
import { ApiError } from '#operations/errors.ts'
import type { Config } from '#platform/config.ts'
import type { Db, Tx } from '#platform/database.ts'
import { isLocked } from '#platform/database-errors.ts'
import type { SkillWarning } from '#platform/tables.ts'
import * as fetchStore from './fetch-store.ts'
import * as store from './store.ts'

export { listInstalledAmong, listSummaries } from './list-store.ts'
export { findSkill, type LiveSkill } from './store.ts'

/** Longer than a fetch and the storing of what it brought may take. */
const fetchSeconds = 90

/** While it lasts, the skill counts as being written, although nothing of it is locked yet. */
export async function whileFetching<T>(
  db: Db,
  workspaceId: string,
  slug: string,
  fetch: () => Promise<T>,
): Promise<T> {
  const id = await fetchStore.insertFetch(db, workspaceId, slug, fetchSeconds)
  try {
    return await fetch()
  } finally {
    // What is done is done: a row that stays behind lapses.
    await fetchStore.deleteFetch(db, id).catch(() => {})
  }
}

/** Whether somebody installs, restores or removes this skill at this very moment, or fetches it for that. */
export async function isSkillBeingWritten(db: Db, workspaceId: string, slug: string): Promise<boolean> {
  if (await fetchStore.findFetch(db, workspaceId, slug)) return true
  try {
    await store.lockSkillAtOnce(db, workspaceId, slug)
    return false
  } catch (error) {
    if (isLocked(error)) return true
    throw error
  }
}

/** What a version will be, whatever it was made from. */
export interface SkillContent {
  bundleChecksum: string
  name: string
  description: string
  category: string
  prompt: string
  allowedTools: string[]
  scopes: string[]
  repository: string | null
  commitHash: string | null
  fromGit: boolean
  warnings: SkillWarning[]
}

/** A catalog, here or in another house, or a git repository that a person named. */
export interface SkillOrigin {
  readonly repository: string
  readonly commitHash: string
  readonly fromGit?: true
}

/** The tools an agent has while it runs a skill. */
export const agentTools = ['bash', 'read_file', 'write_file', 'list_files'] as const

/** Reads what a bundle says of itself; a bundle without a category goes to `general`. */
export function contentOf(
  bundle: Bundle,
  stored: Pick<StoredBundle, 'checksum'>,
  origin: SkillOrigin | undefined,
): SkillContent {
  const main = bundle.files.find(({ path }) => path === 'SKILL.md')
  if (!main) throw new ApiError('INVALID_INPUT', { message: 'A skill needs SKILL.md' })
  const head = readSkillFile(main.bytes)
  const category = head.metadata['category']
  return {
    bundleChecksum: stored.checksum,
    name: head.name,
    description: head.description,
    category: typeof category === 'string' && category.length <= 64 ? category : 'general',
    prompt: head.text,
    allowedTools: head.allowedTools,
    scopes: head.scopes,
    repository: origin?.repository ?? null,
    commitHash: origin?.commitHash ?? null,
    fromGit: origin?.fromGit ?? false,
    warnings: lintSkill(bundle.files, head, agentTools),
  }
}

type ContentRow = Pick<
  store.VersionRow,
  | 'bundle_checksum'
  | 'name'
  | 'description'
  | 'category'
  | 'prompt'
  | 'allowed_tools'
  | 'scopes'
  | 'repository'
  | 'commit_hash'
  | 'warnings'
> &
  Partial<Pick<store.VersionRow, 'from_git'>>

/** The same of a version that was written before, or of what the catalog offers. */
export function contentOfRow(row: ContentRow): SkillContent {
  return {
    bundleChecksum: row.bundle_checksum,
    name: row.name,
    description: row.description,
    category: row.category,
    prompt: row.prompt,
    allowedTools: row.allowed_tools,
    scopes: row.scopes,
    repository: row.repository,
    commitHash: row.commit_hash,
    fromGit: row.from_git ?? false,
    warnings: row.warnings,
  }
}

/**
 * Makes a version and with it the skill, if it is new. Everything becomes visible with the caller's transaction or
 * not at all. `stored` is the bundle when it was just written; one from the catalog is kept already.
 */
export async function writeVersion(
  tx: Tx,
  config: Pick<Config, 'quotas'>,
  principal: Actor,
  slug: string,
  content: SkillContent,
  { stored, restored }: { stored?: StoredBundle | undefined; restored?: { readonly from: number } },
) {
  const { workspaceId, userId } = principal
  if (!isSlug(slug)) {
    throw new ApiError('INVALID_INPUT', { message: 'slug: 1 to 64 lower-case letters, digits and hyphens' })
  }
  // What works keeps the content it began with, and to go back is not to be kept waiting for it.
  if (!restored) await requireFreeSlot(tx, workspaceId)
  // The skill before the bundle, as a restore does it: the other way round the two could wait for each other.
  await store.lockSkill(tx, workspaceId, slug)
  if (stored) await keepBundle(tx, stored)
  else if (!(await claimBundle(tx, content.bundleChecksum))) {
    throw new ApiError('CONFLICT', { message: 'The catalog changed at this moment; install again' })
  }
  const before = await store.findSkill(tx, workspaceId, slug)
  if (!before) await requireRoom(tx, workspaceId)
  const versionNumber = await store.insertVersion(tx, workspaceId, slug, {
    bundle_checksum: content.bundleChecksum,
    name: content.name,
    description: content.description,
    category: content.category,
    prompt: content.prompt,
    allowed_tools: content.allowedTools,
    scopes: content.scopes,
    repository: content.repository,
    commit_hash: content.commitHash,
    from_git: content.fromGit,
    warnings: JSON.stringify(content.warnings),
    note: restored ? `Restored from version ${restored.from}` : null,
    created_by: userId,
  })
  // What is in the catalog is kept anyway, and a version that is restored has been counted.
  if (stored) await requireArtifactRoom(tx, config, workspaceId)
  await recordActivity(tx, principal, {
    type: before ? 'skill.updated' : 'skill.installed',
    workspaceId,
    details: { slug, versionNumber, contentChecksum: content.bundleChecksum },
  })
  return { versionNumber, asksForMore: before && whatIsMore(before, content) }
}

/** A skill is not changed under an agent that works with it; the refusal carries the flag clients look for. */
export async function requireFreeSlot(tx: Tx, workspaceId: string): Promise<void> {
  if (await shareSlot(tx, workspaceId)) return
  throw await executionRunning(tx, workspaceId, { beside: { isRunning: true } })
}

async function requireRoom(tx: Tx, workspaceId: string): Promise<void> {
  await lockWorkspace(tx, workspaceId)
  if ((await store.countSkills(tx, workspaceId)) < skillsPerWorkspace) return
  throw new ApiError('INVALID_INPUT', {
    message: `A workspace holds at most ${skillsPerWorkspace} skills; uninstall one first`,
    details: { limit: skillsPerWorkspace },
  })
}

/** What a version asks for that the one before did not; undefined when nothing. */
export function whatIsMore(before: store.LiveSkill, { allowedTools, scopes }: SkillContent) {
  const more = {
    allowedTools: allowedTools.filter((tool) => !before.allowed_tools.includes(tool)),
    scopes: scopes.filter((scope) => !before.scopes.includes(scope)),
  }
  return more.allowedTools.length > 0 || more.scopes.length > 0 ? more : undefined
}
