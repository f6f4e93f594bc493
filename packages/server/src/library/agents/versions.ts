import { agentBytesPerWorkspace, agentVersionsKept } from '@guildhall/contract'
import { ApiError } from '#operations/errors.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { AgentContent } from '#platform/tables.ts'
import * as store from './store.ts'
import * as versionStore from './version-store.ts'

/** An agent as it was when something began with it. */
export interface PinnedAgent extends AgentContent {
  readonly workspace_id: string
  readonly slug: string
  readonly version_number: number
}

/** Longer than any run goes on, its waiting included. */
const afterDeletionSeconds = 2 * 86_400

/** Changes an agent and keeps what it was and what it is now, who did it and why. Undefined when it is gone. */
export async function changeAgent(
  tx: Tx,
  { workspace_id: workspaceId, slug }: store.AgentRow,
  change: Partial<store.NewAgent>,
  { by, note = null }: { by: string; note?: string | null },
): Promise<store.AgentRow | undefined> {
  if (change.is_primary) await givePrimaryUp(tx, workspaceId, by)
  // There already, unless the process that wrote it died then or did not know of versions yet.
  await versionStore.insertVersion(tx, workspaceId, slug, { by: null, note: null })
  const after = await store.updateAgent(tx, workspaceId, slug, change)
  if (!after) return undefined
  await requireFit(tx, workspaceId)
  await versionStore.insertVersion(tx, workspaceId, slug, { by, note })
  await versionStore.deleteVersionsThrough(tx, workspaceId, slug, after.version_number - agentVersionsKept)
  return after
}

/** Whichever agent is primary is so no longer, before another one becomes it. */
export async function givePrimaryUp(tx: Tx, workspaceId: string, by: string): Promise<void> {
  const before = await store.updateNoPrimary(tx, workspaceId)
  if (before) await versionStore.insertVersion(tx, workspaceId, before.slug, { by, note: null })
}

/** Undefined when the slug is taken. */
export async function addAgent(
  db: Db,
  workspaceId: string,
  agent: store.NewAgent,
  by: string | null,
): Promise<store.AgentRow | undefined> {
  const row = await store.insertAgent(db, workspaceId, agent)
  if (!row) return undefined
  await requireFit(db, workspaceId)
  await versionStore.insertVersion(db, workspaceId, row.slug, { by, note: null })
  return row
}

/** For the transaction that has just written one, and does not commit when this refuses. */
async function requireFit(tx: Db, workspaceId: string): Promise<void> {
  if ((await store.sumAgentBytes(tx, workspaceId)) <= agentBytesPerWorkspace) return
  throw new ApiError('INVALID_INPUT', {
    message: `The agents of a workspace have at most ${agentBytesPerWorkspace / 1024 / 1024} MiB of instructions and descriptions together; shorten or delete some`,
    details: { limit: agentBytesPerWorkspace },
  })
}

/** False for the primary one. */
export async function removeAgent(tx: Tx, workspaceId: string, slug: string): Promise<boolean> {
  if (!(await store.deleteAgent(tx, workspaceId, slug))) return false
  await versionStore.updateVersionsEnd(tx, workspaceId, slug, afterDeletionSeconds)
  return true
}

/** The agent as it was at that version, also when it was changed or deleted since; else as it is now, if it is there. */
export async function findAgentVersion(
  db: Db,
  workspaceId: string,
  slug: string,
  versionNumber: number,
): Promise<PinnedAgent | undefined> {
  const version = await versionStore.findVersion(db, workspaceId, slug, versionNumber)
  if (!version) return store.findAgent(db, workspaceId, slug)
  return { ...version.content, workspace_id: workspaceId, slug, version_number: version.version_number }
}
