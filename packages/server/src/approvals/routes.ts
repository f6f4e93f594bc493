import { approvalRoutes, succeeded } from '@guildhall/contract'
import { bindRoutes } from '../operations/bind.ts'
import { decodeCursor, timePart, toPage } from '../operations/page.ts'
import { type Approvals, refusal } from './decide.ts'
import { describeKey, describeScopes } from './describe.ts'

const defaultPage = 50
const idPattern = /^[a-z]+_[\w-]{1,80}$/
const idPart = (text: string) => idPattern.test(text)

export function approvalHandlers(approvals: Approvals) {
  return bindRoutes(approvalRoutes, {
    listApprovals: async ({ principal, query }) => {
      const limit = query.limit ?? defaultPage
      const [createdAt = '', id = ''] = query.cursor ? decodeCursor(query.cursor, [timePart, idPart]) : []
      const rows = await approvals.list(principal, {
        status: query.status,
        kind: query.kind,
        limit: limit + 1,
        after: query.cursor ? { createdAt, id } : undefined,
      })
      return toPage(rows, limit, describeApproval, (row) => [row.created_at, row.id])
    },

    approveApproval: async ({ principal, params, body }) => {
      const choice = { resumeData: body.resumeData, amount: body.amount }
      await approvals.decide(principal, params.id, { status: 'granted', choice })
      return succeeded
    },

    denyApproval: async ({ principal, params, body }) => {
      await approvals.decide(principal, params.id, refusal(body.reason))
      return succeeded
    },

    challengeApproval: ({ principal, params, body }) =>
      approvals.challenge(principal, params.id, { scopes: body.scopes, modes: body.modes }),
  })
}

function describeApproval(row: Awaited<ReturnType<Approvals['list']>>[number]) {
  return {
    id: row.id,
    kind: row.kind,
    status: row.state,
    workspace: row.workspace_id === null ? null : { id: row.workspace_id, name: row.workspace_name },
    key: row.key_id === null ? null : describeKey(row.key_id, row),
    scopes: describeScopes(row.scopes, row.key_scopes ?? []),
    mode: row.mode,
    reason: row.reason,
    action: row.action as never,
    code: row.code,
    deny_reason: row.deny_reason,
    ...row.more,
    history: { asked: row.asked, allowed: row.allowed, denied: row.denied },
    created_at: row.created_at,
    expires_at: row.expires_at,
    decided_at: row.decided_at,
  }
}
