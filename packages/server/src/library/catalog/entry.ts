import { type Bundle, type BundleFile, readSkillFile, toBundle } from '#library/artifacts/artifacts.ts'
import { ApiError } from '#operations/errors.ts'
import type { CatalogRow } from './store.ts'

/** A folder of a repository that has a SKILL.md; paths of files are relative to it. */
export interface SkillFolder {
  path: string
  files: readonly BundleFile[]
}

/** A repository, or one folder of it, at one commit. */
export interface CatalogSource {
  repository: string
  path?: string
  commitHash: string
}

interface CatalogEntry {
  bundle: Bundle
  row: Omit<CatalogRow, 'bundle_checksum'>
}

/** The address of the list of categories would hide it. */
const reservedSlugs = ['categories']

export function sourceId({ repository, path }: CatalogSource): string {
  return path === undefined ? repository : `${repository}#${path}`
}

/** What the catalog will say about a skill; throws INVALID_INPUT for one that it cannot take. */
export function toEntry(source: CatalogSource, folder: SkillFolder): CatalogEntry {
  const bundle = toBundle('skill', folder.files)
  const main = bundle.files.find(({ path }) => path === 'SKILL.md')
  if (!main) throw refusal('A skill needs SKILL.md')
  const { name, description, text, allowedTools, scopes, metadata } = readSkillFile(main.bytes)
  if (reservedSlugs.includes(name)) throw refusal(`SKILL.md: name must not be ${name}`)
  const row = {
    slug: name,
    source: sourceId(source),
    repository: source.repository,
    commit_hash: source.commitHash,
    name,
    description,
    category: categoryId(metadata['category']),
    prompt: text,
    author: shortText(metadata['author']),
    version: shortText(metadata['version']) || source.commitHash.slice(0, 12),
    allowed_tools: allowedTools,
    scopes,
  }
  // PostgreSQL keeps no NUL in text; one such skill must not keep the others out.
  if (
    Object.values(row)
      .flat()
      .some((value) => value.includes('\0'))
  ) {
    throw refusal('SKILL.md: must not contain NUL characters')
  }
  return { bundle, row }
}

/** `Data Work` and `data-work` are one category. */
function categoryId(given: unknown): string {
  const id = shortText(given)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
  return id || 'general'
}

/** `data-work` reads "Data work". */
export function categoryName(id: string): string {
  const words = id.replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** YAML takes 1.0 for a number. */
function shortText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value).trim().slice(0, 64) : ''
}

function refusal(message: string): ApiError {
  return new ApiError('INVALID_INPUT', { message })
}
