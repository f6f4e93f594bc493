import { fetchGitSkills } from '#library/sources/sources.ts'
import type { Deps } from '#platform/deps.ts'
import { type SyncReport, syncCatalog } from './sync.ts'

/** A repository of skills, or one folder of it; without a ref what it has by default. */
interface RepositoryInput {
  url: string
  ref?: string | undefined
  path?: string | undefined
}

/** `address`, `address#ref` or `address#ref:folder`, as settings and command lines say it. */
export function readRepositoryInput(text: string): RepositoryInput {
  const [url = '', fragment = ''] = text.split('#', 2)
  const [ref, path] = fragment.split(':', 2)
  return { url, ...(ref ? { ref } : {}), ...(path ? { path } : {}) }
}

/** Brings every skill of a repository into the catalog, as of the commit that the ref means now. */
export async function syncRepository(
  deps: Pick<Deps, 'database' | 'storage' | 'outbound'>,
  input: RepositoryInput,
  signal: AbortSignal,
): Promise<SyncReport> {
  const { repository, commitHash, folders, skipped } = await fetchGitSkills(deps, input, signal)
  const { path } = input
  const source = { repository, commitHash, ...(path === undefined ? {} : { path }) }
  const report = await syncCatalog(deps, source, folders)
  return { ...report, skipped: [...skipped, ...report.skipped] }
}
