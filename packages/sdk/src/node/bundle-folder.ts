import { lstat, readdir, readFile } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { ConfigurationError } from '../errors.ts'
import type { CreateArtifactBody } from '../generated/artifacts.ts'
import type { Attachment } from '../generated/records.ts'

/** One file of a bundle, as `artifacts.create` takes it. */
export type BundledFile = NonNullable<CreateArtifactBody['files']>[number]

/** What the server takes at most, of a bundle and of attachments alike. */
const mostBytes = 10_000_000
const neverBundled: ReadonlySet<string> = new Set(['.git', 'node_modules', '.guildignore'])

/**
 * The files of a folder, for `artifacts.create`. What `.guildignore` names is left out, a name or a path on each line. A
 * link is refused: what it leads to may be nobody's business.
 */
export async function bundleFolder(folder: string): Promise<BundledFile[]> {
  const ignored = await ignoredIn(folder)
  const files: BundledFile[] = []
  let bytes = 0
  for (const path of await filesBelow(folder, folder, ignored)) {
    const content = await readFile(path)
    bytes = added(bytes, content, folder)
    files.push({ path: below(folder, path), content: content.toString('base64'), encoding: 'base64' })
  }
  return files
}

/** A file that goes with a request, for `attachments`. */
export async function attachFile(path: string): Promise<Attachment> {
  const content = await readFile(path)
  added(0, content, path)
  return { name: basename(path), data: content.toString('base64') }
}

function added(bytes: number, { length }: Uint8Array, path: string): number {
  if (bytes + length <= mostBytes) return bytes + length
  throw new ConfigurationError(`${path} has more than 10 MB, which no request takes`)
}

async function filesBelow(top: string, folder: string, ignored: ReadonlySet<string>): Promise<string[]> {
  const found: string[] = []
  for (const name of (await readdir(folder)).sort()) {
    const path = join(folder, name)
    if (ignored.has(name) || ignored.has(below(top, path))) continue
    const entry = await lstat(path)
    if (entry.isSymbolicLink()) throw new ConfigurationError(`${path} is a link; bundles have none`)
    if (entry.isDirectory()) found.push(...(await filesBelow(top, path, ignored)))
    else if (entry.isFile()) found.push(path)
  }
  return found
}

async function ignoredIn(folder: string): Promise<ReadonlySet<string>> {
  const text = await readFile(join(folder, '.guildignore'), 'utf8').catch(() => '')
  const lines = text.split('\n').map((line) => line.trim())
  const named = lines.filter((line) => line !== '' && !line.startsWith('#'))
  return new Set([...neverBundled, ...named.map((line) => (line.endsWith('/') ? line.slice(0, -1) : line))])
}

const below = (top: string, path: string): string => relative(top, path).split(sep).join('/')
