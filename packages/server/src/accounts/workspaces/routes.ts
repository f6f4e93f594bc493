import { succeeded, workspaceRoutes } from '@guildhall/contract'
import { recordActivity } from '#accounts/activity/activity.ts'
import { bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { createOnce } from '#operations/idempotency/idempotency.ts'
import { decodeCursor, timePart, toPage, uuidPart } from '#operations/page.ts'
import type { WorkspaceDoors } from './doors.ts'
import { removeMember } from './members.ts'
import * as store from './store.ts'
import { createTeamWorkspace, describeWorkspace, findWorkspace } from './workspaces.ts'

const defaultPage = 50

export function workspaceFeature({
  setSessionWorkspace,
  endAccess,
  announceRemoval,
}: WorkspaceDoors): Feature {
  const routes = bindRoutes(workspaceRoutes, {
    listWorkspaces: async ({ principal, deps }) => {
      const { kind, userId, workspaceId } = principal
      if (kind === 'session') {
        const rows = await store.listWorkspaces(deps.database.db, userId)
        return rows.map((row) => describeWorkspace(row, workspaceId))
      }
      const row = await findWorkspace(deps.database, workspaceId, userId)
      return row ? [describeWorkspace(row, workspaceId)] : []
    },

    createWorkspace: (call) =>
      createOnce(call, async (tx) => {
        const row = await createTeamWorkspace(tx, call.principal.userId, call.body.name.trim())
        const details = { name: row.name }
        await recordActivity(tx, call.principal, { type: 'workspace.created', workspaceId: row.id, details })
        return { resourceId: row.id, answer: describeWorkspace(row, call.principal.workspaceId) }
      }),

    setCurrentWorkspace: async ({ principal, body, deps }) => {
      if (principal.kind !== 'session' && body.workspaceId !== principal.workspaceId) {
        throw new ApiError('CONFLICT', { message: 'Key is bound to a workspace' })
      }
      const workspace = await findWorkspace(deps.database, body.workspaceId, principal.userId)
      if (!workspace) throw new ApiError('FORBIDDEN', { message: 'You are not a member of that workspace' })
      if (principal.kind === 'session') await setSessionWorkspace(principal.credentialId, workspace.id)
      return { ...succeeded, workspace: { id: workspace.id, name: workspace.name } }
    },

    listMembers: async ({ principal, query, deps }) => {
      const limit = query.limit ?? defaultPage
      const [joinedAt = '', userId = ''] = query.cursor
        ? decodeCursor(query.cursor, [timePart, uuidPart])
        : []
      const rows = await store.listMembers(deps.database.db, principal.workspaceId, {
        limit: limit + 1,
        after: query.cursor ? { joinedAt, userId } : undefined,
      })
      return toPage(
        rows,
        limit,
        (row) => row,
        (row) => [row.joinedAt, row.userId],
      )
    },

    removeMember: async ({ principal, params, deps }) => {
      const { userId: actorId, workspaceId } = principal
      const { userId, tell } = await deps.database.transaction(async (tx) => {
        const userId = await removeMember(tx, { workspaceId, actorId }, params.userId)
        const { tell, ...ended } = await endAccess(tx, { workspaceId, userId })
        const details = { userId, ...ended }
        await recordActivity(tx, principal, { type: 'member.removed', workspaceId, details })
        return { userId, tell }
      })
      announceRemoval(workspaceId, userId)
      await tell()
      return succeeded
    },
  })
  return { routes }
}
