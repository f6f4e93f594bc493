import { type BundleFile, findArtifact, readBundle } from '#library/artifacts/artifacts.ts'
import type { Deps } from '#platform/deps.ts'
import { findEarlierWork, type TraceParts } from '#running/traces/traces.ts'
import type { ExecutionRow } from './store.ts'

const recordName = 'HANDOVER.md'

/** What an execution finds in its workspace of earlier work on its trace. */
export interface Carried {
  readonly brief: BundleFile
  /** The brief first, then what the last run left. */
  readonly files: readonly BundleFile[]
}

type CarryParts = Pick<Deps, 'database' | 'storage'> & { readonly traces: TraceParts }

/** Undefined for an execution that nothing came before on its trace. */
export async function readCarried(parts: CarryParts, row: ExecutionRow): Promise<Carried | undefined> {
  const trace = { workspaceId: row.workspace_id, id: row.trace_id }
  const earlier = await findEarlierWork(parts.traces, trace, row.id)
  if (!earlier) return undefined
  const brief = { path: recordName, bytes: Buffer.from(earlier.brief) }
  const files = await readOutput(parts, trace.workspaceId, earlier.artifactId)
  return { brief, files: [brief, ...files.filter(({ path }) => path !== recordName)] }
}

/** Whoever deleted the files meant it. */
async function readOutput(
  parts: CarryParts,
  workspaceId: string,
  artifactId: string | undefined,
): Promise<readonly BundleFile[]> {
  if (artifactId === undefined) return []
  const artifact = await findArtifact(parts.database.db, workspaceId, artifactId)
  return artifact ? readBundle(parts, artifact.content_checksum) : []
}
