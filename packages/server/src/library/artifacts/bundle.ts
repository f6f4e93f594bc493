import { createHash } from 'node:crypto'
import { bundleLimits } from '@guildhall/contract'
import { ApiError } from '#operations/errors.ts'
import { bundlePath, findClash } from './bundle-path.ts'
import { readSkillFile } from './skill-file.ts'
import type { BundleFile } from './unpack.ts'

export interface Bundle {
  files: BundleFile[]
  sizeBytes: number
  /** What the bundle itself says it is called, if it says so. */
  name: string | undefined
  description: string | undefined
}

/**
 * Makes a bundle of files that came from outside: every path judged, sizes and numbers checked once more whatever
 * way they came in, and what the type demands is there. A single folder around everything is taken off.
 */
export function toBundle(type: 'skill' | 'workflow' | 'file', given: readonly BundleFile[]): Bundle {
  const needed = { skill: 'SKILL.md', workflow: 'workflow.json', file: undefined }[type]
  const { files, sizeBytes } = arrangeFiles(given, ({ bytes }) => bytes.length, needed)
  const main = needed && files.find(({ path }) => path === needed)
  if (needed && !main) throw refusal(`A ${type} needs ${needed}`, { missing: needed })
  const head = type === 'skill' && main ? readSkillFile(main.bytes) : undefined
  return { files, sizeBytes, name: head?.name, description: head?.description }
}

/** What a bundle is refused for without a look at its content, which may not have been read yet. */
export function arrangeFiles<File extends { readonly path: string }>(
  given: readonly File[],
  sizeOf: (file: File) => number,
  needed?: string,
): { files: File[]; sizeBytes: number } {
  if (given.length === 0) throw refusal('A bundle needs at least one file')
  if (given.length > bundleLimits.files) throw refusal('Too many files', { limit: bundleLimits.files })
  const files = withoutOuterFolder(given.map(judgePath), needed).sort((a, b) => (a.path < b.path ? -1 : 1))
  const clash = findClash(files.map(({ path }) => path))
  if (clash !== undefined) throw refusal(`${clash}: another file has this place`, { path: clash })
  const sizeBytes = files.reduce((sum, file) => sum + sizeOf(file), 0)
  if (sizeBytes > bundleLimits.bytes) {
    throw refusal('The files are too large together', { limit: bundleLimits.bytes })
  }
  return { files, sizeBytes }
}

function judgePath<File extends { readonly path: string }>(file: File): File {
  const path = bundlePath(file.path)
  if (path === undefined)
    throw refusal('A path leads out of the bundle or is odd', { path: file.path.slice(0, 200) })
  return { ...file, path }
}

/** Archives of a folder have its name before every path. */
function withoutOuterFolder<File extends { readonly path: string }>(
  files: File[],
  needed: string | undefined,
): File[] {
  const folder = /^[^/]+\//.exec(files[0]?.path ?? '')?.[0]
  if (!needed || !folder || files.some(({ path }) => path === needed)) return files
  if (!files.every(({ path }) => path.startsWith(folder))) return files
  return files.map((file) => ({ ...file, path: file.path.slice(folder.length) }))
}

/** Undefined for what is not base64: Node itself would skip what it does not know. */
export function decodeBase64(text: string): Buffer | undefined {
  return /^[A-Za-z0-9+/\s]*(?:={1,2}\s*)?$/.test(text) ? Buffer.from(text, 'base64') : undefined
}

/** The same for the same files, whatever order or archive they came in. */
export function contentChecksum(files: readonly { path: string; checksum: string }[]): string {
  const hash = createHash('sha256')
  for (const { path, checksum } of files) hash.update(`${checksum} ${path}\n`)
  return hash.digest('hex')
}

function refusal(message: string, details?: Record<string, unknown>): ApiError {
  return new ApiError('INVALID_INPUT', { message, ...(details ? { details } : {}) })
}
