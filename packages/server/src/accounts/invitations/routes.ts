import { invitationRoutes, succeeded } from '@guildhall/contract'
import { bindRoutes } from '#operations/bind.ts'
import type { Feature } from '#operations/feature.ts'
import { createOnce } from '#operations/idempotency/idempotency.ts'
import type { Deps } from '#platform/deps.ts'
import { toPrintable } from '#platform/printable.ts'
import { accept, decline, invite, listOfWorkspace, listOwn, withdraw } from './invitations.ts'
import * as store from './store.ts'

const shownLength = 120

export function invitationFeature({ database }: Deps): Feature {
  const routes = bindRoutes(invitationRoutes, {
    inviteMember: (call) =>
      createOnce(call, async (tx) => {
        const { email, role = 'member' } = call.body
        const row = await invite(tx, call.principal, { email, role })
        return { resourceId: row.id, answer: describeInvitation(row) }
      }),

    listWorkspaceInvitations: async ({ principal, deps }) => {
      const rows = await listOfWorkspace(deps.database.db, principal)
      return { items: rows.map(describeInvitation), nextCursor: null }
    },

    withdrawInvitation: async ({ principal, params, deps }) => {
      await deps.database.transaction((tx) => withdraw(tx, principal, params.id))
      return succeeded
    },

    listInvitations: async ({ principal, deps }) => {
      const rows = await listOwn(deps.database.db, principal)
      const items = rows.map((row) => ({
        id: row.id,
        workspace: { name: shown(row.workspace_name) },
        invitedBy: { name: shown(row.inviter_name), email: shown(row.inviter_email) },
        role: row.role,
        createdAt: row.created_at,
        expiresAt: row.expires_at,
      }))
      return { items, nextCursor: null }
    },

    acceptInvitation: async ({ principal, params, deps }) => {
      const { id, name } = await deps.database.transaction((tx) => accept(tx, principal, params.id))
      return { ...succeeded, workspace: { id, name } }
    },

    declineInvitation: async ({ principal, params, deps }) => {
      await deps.database.transaction((tx) => decline(tx, principal, params.id))
      return succeeded
    },
  })
  return {
    routes,
    sweeps: [{ table: 'invitations', run: () => store.deleteEndedInvitations(database.db) }],
  }
}

/** All of it is what a stranger has chosen to be called. */
function shown(text: string | null): string | null {
  return text === null ? null : toPrintable(text, shownLength) || null
}

interface Row {
  id: string
  email: string
  role: 'owner' | 'member'
  created_at: string
  expires_at: string
}

function describeInvitation({ id, email, role, created_at, expires_at }: Row) {
  return { id, email, role, status: 'pending' as const, createdAt: created_at, expiresAt: expires_at }
}
