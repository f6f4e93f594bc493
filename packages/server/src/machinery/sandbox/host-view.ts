import { access, lstat, readlink } from 'node:fs/promises'

/** One thing of the host that a sandbox sees, read-only, at the same path. */
export type Sight = { kind: 'folder' | 'file'; path: string } | { kind: 'link'; path: string; target: string }

const programs = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']
/** What programs look up and what names no person, machine or secret. */
const settings = ['/etc/alternatives', '/etc/fonts', '/etc/ld.so.cache', '/etc/mime.types']

/** The host's programs, and nothing of its accounts, homes, data or configuration. */
export async function listSights(more: readonly string[]): Promise<Sight[]> {
  const sights = await Promise.all([...programs, ...settings].map(lookAt))
  for (const path of more) await access(path)
  return [...sights, ...(await Promise.all(more.map(lookAt)))].filter((sight) => sight !== undefined)
}

async function lookAt(path: string): Promise<Sight | undefined> {
  const found = await lstat(path).catch(() => undefined)
  if (!found) return undefined
  // On most distributions /bin and /lib* are links into /usr.
  if (found.isSymbolicLink()) return { kind: 'link', path, target: await readlink(path) }
  return { kind: found.isDirectory() ? 'folder' : 'file', path }
}
