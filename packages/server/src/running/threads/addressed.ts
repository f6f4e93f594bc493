import {
  type AgentRow,
  ensurePrimary,
  findAgent,
  findPrimary,
  findPrimarySlug,
} from '#library/agents/agents.ts'
import { ApiError } from '#operations/errors.ts'
import type { Db } from '#platform/database.ts'
import { findThread } from './store.ts'

/** By its id or slug; left out, the primary one. */
export async function requireAgent(
  db: Db,
  workspaceId: string,
  agentId: string | undefined,
): Promise<AgentRow> {
  if (agentId === undefined) {
    await ensurePrimary(db, workspaceId)
    const primary = await findPrimary(db, workspaceId)
    if (primary) return primary
  }
  const row = agentId === undefined ? undefined : await findAgent(db, workspaceId, agentId)
  if (!row) throw new ApiError('NOT_FOUND', { message: 'There is no such agent here' })
  return row
}

/**
 * Whom a message is for that names nobody: whoever its thread is with, or the primary one. Undefined where there is no
 * such thread, or one that is not for everybody. Makes nothing, because who asks may not have the right to.
 */
export async function findAddressee(
  db: Db,
  workspaceId: string,
  threadId: string | undefined,
): Promise<string | undefined> {
  if (threadId === undefined) return findPrimarySlug(db, workspaceId)
  const thread = await findThread(db, workspaceId, threadId)
  return thread?.visibility === 'workspace' ? thread.agent_slug : undefined
}
