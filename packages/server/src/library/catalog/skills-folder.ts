import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import type { SkillFolder } from './entry.ts'

/** What running a skill's scripts in place leaves behind, and what is nobody's content. */
const ignored = /(^|\/)(__pycache__|\.[^/]*)(\/|$)/

/**
 * The skills that lie side by side in a folder, and a hash over all their files: the same for the same content, on any
 * machine, like the hash of a tree in git.
 */
export async function readSkillsFolder(
  directory: string,
): Promise<{ commitHash: string; folders: SkillFolder[] }> {
  const files = await readFiles(directory)
  const slugs = files.flatMap(({ path }) => /^([^/]+)\/SKILL\.md$/.exec(path)?.[1] ?? [])
  // A folder that is not mounted looks empty; nothing must be removed from the catalog for that.
  if (slugs.length === 0) throw new Error(`There is no skill in ${directory}: set CATALOG_DIR`)
  const hash = createHash('sha256')
  for (const { path, bytes } of files) {
    hash.update(`${createHash('sha256').update(bytes).digest('hex')} ${path}\n`)
  }
  const folders = slugs.map((slug) => ({
    path: slug,
    files: files
      .filter(({ path }) => path.startsWith(`${slug}/`))
      .map(({ path, bytes }) => ({ path: path.slice(slug.length + 1), bytes })),
  }))
  return { commitHash: hash.digest('hex'), folders }
}

async function readFiles(directory: string) {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    .filter((path) => !ignored.test(path))
    .sort()
  return Promise.all(paths.map(async (path) => ({ path, bytes: await readFile(join(directory, path)) })))
}
