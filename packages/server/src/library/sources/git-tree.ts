import { ApiError } from '#operations/errors.ts'

/** A line of a tree: the mode tells plain files (100644, 100755) from links (120000) and submodules (160000). */
export interface TreeEntry {
  mode: string
  hash: string
  sizeBytes: number
  path: string
}

const line = /^(\d{6}) \w+ ([0-9a-f]{40,64}) +(\d+|-)\t([\s\S]+)$/

export function readTree(listing: Buffer): TreeEntry[] {
  return listing
    .toString('utf8')
    .split('\0')
    .flatMap((text) => {
      const [, mode, hash, size, path] = line.exec(text) ?? []
      if (mode === undefined || hash === undefined || path === undefined) return []
      return [{ mode, hash, path, sizeBytes: Number(size) || 0 }]
    })
}

/** The folders that hold this file, relative to the listing; '' is its top. */
export function foldersWith(entries: readonly TreeEntry[], mainFile: string): string[] {
  return entries
    .filter(({ path }) => path === mainFile || path.endsWith(`/${mainFile}`))
    .map(({ path }) => path.slice(0, -mainFile.length).replace(/\/$/, ''))
}

const mostCandidates = 50

/**
 * The folder that is meant, relative to the listing; '' is its top. A folder that was named must be one; else a
 * repository with one is that one, and of several the caller chooses.
 */
export function chooseFolder(
  entries: readonly TreeEntry[],
  mainFile: string,
  named: string | undefined,
): string {
  const folders = foldersWith(entries, mainFile)
  const [first, second] = folders
  if (first === undefined) throw refusal(`There is no ${mainFile} there`, { missing: mainFile })
  if (named !== undefined && folders.includes('')) return ''
  if (named === undefined && second === undefined) return first
  const under = (folder: string) => [named, folder].filter(Boolean).join('/') || '.'
  throw refusal('path: say which of the folders', {
    candidates: folders.slice(0, mostCandidates).map((folder) => under(folder).slice(0, 300)),
    ...(folders.length > mostCandidates ? { truncated: true } : {}),
  })
}

/** Entries of a folder with their paths in it; links, submodules and what else is no plain file are refused. */
export function plainFilesIn(entries: readonly TreeEntry[], folder: string): TreeEntry[] {
  const prefix = folder === '' ? '' : `${folder}/`
  const inside = entries.filter(({ path }) => path.startsWith(prefix))
  const odd = inside.find(({ mode }) => mode !== '100644' && mode !== '100755')
  if (odd) throw refusal('Only plain files can be in a bundle', { path: odd.path.slice(0, 200) })
  return inside.map((entry) => ({ ...entry, path: entry.path.slice(prefix.length) }))
}

function refusal(message: string, details: Record<string, unknown>): ApiError {
  return new ApiError('INVALID_INPUT', { message, details })
}
