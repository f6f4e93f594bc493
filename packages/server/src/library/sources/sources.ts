import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundleLimits, isSlug } from '@guildhall/contract'
import { type BundleFile, bundlePath, toBundle, unpack } from '#library/artifacts/artifacts.ts'
import { ApiError } from '#operations/errors.ts'
import { FairPlaces } from '#platform/fair-places.ts'
import {
  checkDestination,
  type FetchedBody,
  getBounded,
  type Outbound,
  OutboundError,
} from '#platform/outbound.ts'
import { fetchCommit, GitFailure, type GitFolder, listTree, readBlobs } from './git.ts'
import { chooseFolder, foldersWith, plainFilesIn, readTree, type TreeEntry } from './git-tree.ts'

export { lintSkill } from './lint.ts'

export interface FetchedBundle {
  /** Judged like every bundle: paths, number and sizes hold, and the main file is at the top. */
  files: { path: string; bytes: Buffer; executable: boolean }[]
  commitHash: string
  repository: string
}

type Kind = 'skill' | 'workflow'

const mainFiles = { skill: 'SKILL.md', workflow: 'workflow.json' } as const
const longestListingBytes = 4_000_000
/** All skills of one repository together, unpacked; they are in memory until they are stored. */
const repositoryBytes = 10 * bundleLimits.bytes
/** A zip's heads and names come on top of its contents. */
const longestZipBytes = bundleLimits.bytes + 1_000_000
/** A branch, a tag or a whole commit hash: nothing that git would take for an option, a pattern or two refs. */
const refPattern = /^(?!.*(?:\.\.|\/\/|\.lock(?:\/|$)))[A-Za-z0-9][\w.+/-]{0,199}(?<![./])$/
const hashPattern = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/
/** Somewhere below, too, and in any case: git run beside it would take its settings from there. */
const gitInternals = /(?:^|\/)(?:\.git|git~\d+)(?:\/|$)/i

/** Whose fetch it is, and by which way out. */
interface Fetching {
  readonly outbound: Outbound
  /** The person; none for what the operator fetches. */
  readonly userId?: string
}

/**
 * A fetch holds memory, a disk's place and processes. One person has only some of the places, through however many
 * workspaces and keys and however slow what is fetched from is: others find one free.
 */
const places = new FairPlaces(8, 2)
/** Who waits for a place for longer than that is told to come again. */
const placeWithinMs = 5000

async function bounded<T>(
  { outbound: { timeoutMs }, userId = randomUUID() }: Fetching,
  signal: AbortSignal,
  fetch: (ends: AbortSignal) => Promise<T>,
): Promise<T> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(Math.min(placeWithinMs, timeoutMs))])
  const leave = await places.take(userId, patience).catch((error: unknown) => {
    throw away(error)
  })
  const ends = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  try {
    return await fetch(ends)
  } catch (error) {
    throw tell(error, ends)
  } finally {
    leave()
  }
}

interface GitSource {
  url: string
  ref?: string | undefined
  path?: string | undefined
}

/**
 * One folder of a repository at one commit. Refusals are INVALID_INPUT; with several folders to choose from,
 * `details.candidates` names them. SERVICE_UNAVAILABLE when the remote does not answer, or not in time.
 */
export async function fetchGit(
  deps: Fetching,
  { kind = 'skill', ...source }: GitSource & { kind?: Kind },
  signal: AbortSignal,
): Promise<FetchedBundle> {
  return inRepository(deps, source, signal, async (at, entries, path) => ({
    files: await readFolder(at, kind, entries, chooseFolder(entries, mainFiles[kind], path)),
  }))
}

/** Every skill of a repository, or of a folder of it, at one commit; what cannot be a bundle is told apart. */
export async function fetchGitSkills(deps: Fetching, source: GitSource, signal: AbortSignal) {
  return inRepository(deps, source, signal, async (at, entries, path = '') => {
    const folders: { path: string; files: FetchedBundle['files'] }[] = []
    const skipped: { path: string; reason: string }[] = []
    let sizeBytes = 0
    for (const folder of foldersWith(entries, mainFiles.skill)) {
      const name = [path, folder].filter(Boolean).join('/') || '.'
      try {
        const files = await readFolder(at, 'skill', entries, folder)
        folders.push({ path: name, files })
        sizeBytes += files.reduce((sum, { bytes }) => sum + bytes.length, 0)
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'INVALID_INPUT') throw error
        skipped.push({ path: name.slice(0, 300), reason: error.message })
      }
      if (sizeBytes > repositoryBytes) throw tooLarge()
    }
    if (folders.length === 0) throw refusal('No skill could be read there', { skipped: skipped.slice(0, 50) })
    return { folders, skipped }
  })
}

async function inRepository<T extends object>(
  fetching: Fetching,
  source: GitSource,
  signal: AbortSignal,
  read: (at: GitFolder, entries: TreeEntry[], path: string | undefined) => Promise<T>,
): Promise<T & { commitHash: string; repository: string }> {
  const { url, ref = 'HEAD' } = source
  if (!refPattern.test(ref)) throw refusal('ref: must be a branch, a tag or a whole commit hash')
  const path = source.path === '.' ? '' : source.path?.replace(/\/$/, '')
  if (path && bundlePath(path) === undefined) throw refusal('path: must be a folder of the repository')
  // What follows a ? or # would no longer be the path we mean.
  if (/[?#]/.test(url)) throw refusedSource()
  const { outbound } = fetching
  return bounded(fetching, signal, async (ends) => {
    const destination = await checkDestination(outbound, url, ends)
    const at = { folder: await mkdtemp(join(tmpdir(), 'guildhall-fetch-')), signal: ends }
    try {
      const commitHash = await fetchCommit(at, destination, ref, outbound.allowCaFile)
      const entries = readTree(await listTree(at, commitHash, path ?? '', longestListingBytes))
      return { ...(await read(at, entries, path)), commitHash, repository: destination.url.href }
    } finally {
      await rm(at.folder, { recursive: true, force: true })
    }
  })
}

async function readFolder(
  at: GitFolder,
  kind: Kind,
  entries: readonly TreeEntry[],
  folder: string,
): Promise<FetchedBundle['files']> {
  const found = plainFilesIn(entries, folder)
  if (found.length > bundleLimits.files) throw refusal('Too many files', { limit: bundleLimits.files })
  if (found.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) > bundleLimits.bytes) throw tooLarge()
  const contents = await readBlobs(at, found)
  const files = found.map(({ path: name }, i) => ({ path: name, bytes: contents[i] ?? Buffer.alloc(0) }))
  const executables = new Set(found.filter(({ mode }) => mode === '100755').map(({ path: name }) => name))
  return judge(kind, files).map((file) => ({ ...file, executable: executables.has(file.path) }))
}

/** A skill as another house of this kind serves it: a zip, and its commit in a header. NOT_FOUND if it has none. */
export async function fetchRegistry(
  fetching: Fetching,
  source: { registry: string; slug: string },
  signal: AbortSignal,
): Promise<FetchedBundle> {
  if (!isSlug(source.slug)) throw refusal('slug: must be lower-case letters, digits and hyphens')
  const registry = source.registry.replace(/\/$/, '')
  if (/[?#]/.test(registry)) throw refusedSource()
  const address = `${registry}/api/v1/marketplace/skills/${source.slug}/bundle`
  const { outbound } = fetching
  return bounded(fetching, signal, async (ends) => {
    const answer = await getBounded(outbound, address, { maxBytes: longestZipBytes, signal: ends })
    return { ...(await readAnswer(answer)), repository: new URL(registry).href }
  })
}

async function readAnswer({
  status,
  headers,
  body,
}: FetchedBody): Promise<Omit<FetchedBundle, 'repository'>> {
  if (status === 404) throw new ApiError('NOT_FOUND', { message: 'The registry has no such skill' })
  if (status >= 500 || status === 429) throw away(new Error(`The registry answered ${status}`))
  const commitHash = headers['x-commit-hash']
  if (status !== 200 || typeof commitHash !== 'string' || !hashPattern.test(commitHash)) {
    throw refusal('registry: did not answer with a bundle and its commit')
  }
  // An unpacked zip no longer tells which files could be run; scripts say it themselves.
  const files = judge('skill', await unpack(body)).map((file) => ({
    ...file,
    executable: file.bytes.subarray(0, 2).toString('latin1') === '#!',
  }))
  return { files, commitHash }
}

function judge(kind: Kind, given: readonly BundleFile[]): BundleFile[] {
  const odd = given.find(({ path }) => gitInternals.test(path) || path.includes('\ufffd'))
  if (odd) throw refusal('A path leads out of the bundle or is odd', { path: odd.path.slice(0, 200) })
  return toBundle(kind, given).files
}

/** What git says of a connection that failed, or of a server that could not answer; not of one that would not. */
const notAnswering =
  /unable to access '[^'\n]*': (?!The requested URL returned error: (?!5|429))|RPC failed; (?:curl|HTTP 5)/

function tell(error: unknown, ends: AbortSignal): unknown {
  if (error instanceof ApiError) return error
  if (ends.aborted) return away(error)
  if (error instanceof OutboundError) {
    if (error.kind === 'refused') return refusedSource()
    return error.kind === 'too-large' ? tooLarge() : away(error)
  }
  if (!(error instanceof GitFailure)) return error
  if (error.reason === 'too-large') return tooLarge()
  if (notAnswering.test(error.stderr)) return away(error)
  return new ApiError('INVALID_INPUT', {
    message: 'The repository could not be read: check url, ref and path, and that anybody may read it',
    cause: error,
  })
}

/** One sentence whatever was wrong with the address: more would tell about our network. */
function refusedSource(): ApiError {
  return refusal('This source is refused: only public https addresses are fetched')
}

function tooLarge(): ApiError {
  return refusal('There is more than a bundle can hold; name a smaller folder in path', {
    limit: bundleLimits.bytes,
  })
}

function away(cause: unknown): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', { cause, retryAfterSeconds: 5 })
}

function refusal(message: string, details?: Record<string, unknown>): ApiError {
  return new ApiError('INVALID_INPUT', { message, ...(details ? { details } : {}) })
}
