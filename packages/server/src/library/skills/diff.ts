import { listBundleFiles, readFiles } from '#library/artifacts/artifacts.ts'
import type { Deps } from '#platform/deps.ts'
import { type Comparison, leftOut } from './compare.ts'
import type { Compare } from './comparer.ts'

type BundleEntry = Awaited<ReturnType<typeof listBundleFiles>>[number]

interface Change {
  readonly path: string
  readonly change: 'added' | 'removed' | 'changed'
  readonly was: BundleEntry | undefined
  readonly is: BundleEntry | undefined
}

const bytesPerFile = 200_000
/** Read, compared and answered for one request. */
const bytesPerRequest = 4_000_000

/** What differs between two bundles, each file as a unified diff or with the reason why not. */
export async function diffBundles(
  deps: Pick<Deps, 'database' | 'storage'>,
  compare: Compare,
  bundles: { readonly workspaceId: string; readonly from: string; readonly to: string },
  signal: AbortSignal,
) {
  const { db } = deps.database
  const [before, after] = [await listBundleFiles(db, bundles.from), await listBundleFiles(db, bundles.to)]
  const changes = changesBetween(before, after)
  const { compared, tooLarge } = withinBudget(changes)
  const comparisons = await compare(
    bundles.workspaceId,
    () => Promise.all(compared.map((change) => readPair(deps, change))),
    signal,
  )
  const found = new Map<Change, Comparison>(
    compared.map((change, i) => [change, comparisons[i] as Comparison]),
  )
  return changes.map((change) => {
    const comparison = found.get(change) ?? leftOut(tooLarge.has(change) ? 'too-large' : 'over-budget')
    return { path: change.path, change: change.change, ...comparison }
  })
}

/** Equal checksums are equal files: those are not even read. */
function changesBetween(before: readonly BundleEntry[], after: readonly BundleEntry[]): Change[] {
  const [old, fresh] = [byPath(before), byPath(after)]
  return [...new Set([...old.keys(), ...fresh.keys()])].sort().flatMap((path) => {
    const [was, is] = [old.get(path), fresh.get(path)]
    if (was?.checksum === is?.checksum) return []
    return [{ path, change: !was ? 'added' : !is ? 'removed' : 'changed', was, is } as const]
  })
}

function byPath(entries: readonly BundleEntry[]): Map<string, BundleEntry> {
  return new Map(entries.map((entry) => [entry.path, entry]))
}

function withinBudget(changes: readonly Change[]) {
  const tooLarge = new Set(changes.filter((change) => sizesOf(change).some((size) => size > bytesPerFile)))
  let left = bytesPerRequest
  const compared = changes.filter((change) => {
    if (tooLarge.has(change)) return false
    const needed = sizesOf(change).reduce((sum, size) => sum + size, 0)
    if (needed > left) return false
    left -= needed
    return true
  })
  return { compared, tooLarge }
}

function sizesOf({ was, is }: Change): number[] {
  return [was?.size_bytes ?? 0, is?.size_bytes ?? 0]
}

async function readPair(deps: Pick<Deps, 'storage'>, { path, was, is }: Change) {
  const [before] = was ? await readFiles(deps, [was]) : []
  const [after] = is ? await readFiles(deps, [is]) : []
  return { path, before: before?.bytes, after: after?.bytes }
}
