import { approvalRoutes, type BodyOf, succeeded } from '@guildhall/contract'
import { approvalSubject, describeScopes, findRequest, modesOf, refuseDecision } from '../consent/consent.ts'
import { bindRoutes } from '../operations/bind.ts'
import { ApiError } from '../operations/errors.ts'
import { decodeCursor, timePart, toPage } from '../operations/page.ts'
import { challengeFor } from '../passkeys/passkeys.ts'
import type { Question } from './approvals.ts'
import { approve, type DecisionParts, deny } from './decide.ts'
import * as store from './store.ts'

const defaultPage = 50
const idPattern = /^[a-z]+_[\w-]{1,80}$/
const idPart = (text: string) => idPattern.test(text)

export function approvalHandlers(parts: DecisionParts) {
  return bindRoutes(approvalRoutes, {
    listApprovals: async ({ principal, query, deps }) => {
      const limit = query.limit ?? defaultPage
      const [createdAt = '', id = ''] = query.cursor ? decodeCursor(query.cursor, [timePart, idPart]) : []
      const rows = await store.listInbox(deps.database.db, principal.userId, {
        status: query.status,
        kind: query.kind,
        limit: limit + 1,
        after: query.cursor ? { createdAt, id } : undefined,
      })
      return toPage(rows, limit, describeApproval, (row) => [row.created_at, row.id])
    },

    approveApproval: async ({ principal, params, body, deps }) => {
      await approve(deps, parts, principal, params.id, body)
      return succeeded
    },

    denyApproval: async ({ principal, params, body, deps }) => {
      await deny(deps, parts, principal, params.id, body.reason)
      return succeeded
    },

    challengeApproval: async ({ principal, params, body, deps }) => {
      const request = await findRequest(deps.database.db, principal.userId, params.id)
      if (!request) throw new ApiError('NOT_FOUND')
      if (request.state !== 'pending') throw refuseDecision(request.state)
      return challengeFor(deps, principal.userId, approvalSubject(request.id, chosenModes(request, body)))
    },
  })
}

type Choice = BodyOf<typeof approvalRoutes.challengeApproval>

/** Exactly what the approval will say later: one character of difference and the passkey's answer does not fit. */
function chosenModes(
  request: NonNullable<Awaited<ReturnType<typeof findRequest>>>,
  { scopes, modes }: Choice,
) {
  if (request.kind === 'consent') return modesOf([...new Set(scopes ?? request.scopes)], modes, 'persistent')
  return modesOf(request.scopes, modes, request.mode ?? 'session')
}

function describeApproval(row: store.InboxRow) {
  return {
    id: row.id,
    kind: row.kind,
    status: row.state,
    workspace: row.workspace_id === null ? null : { id: row.workspace_id, name: row.workspace_name },
    key:
      row.key_id === null
        ? null
        : {
            id: row.key_id,
            label: row.key_label ?? '',
            client_label: row.client_label,
            client_ua: row.client_ua,
            client_ip: row.client_ip,
            created_at: row.key_created_at ?? row.created_at,
          },
    scopes: describeScopes(row.scopes, row.key_scopes ?? []),
    mode: row.mode,
    reason: row.reason,
    action: row.action as never,
    code: row.code,
    deny_reason: row.deny_reason,
    ...describeQuestion(row),
    history: { asked: row.asked, allowed: row.allowed, denied: row.denied },
    created_at: row.created_at,
    expires_at: row.expires_at,
    decided_at: row.decided_at,
  }
}

function describeQuestion({ kind, subject, question }: store.InboxRow) {
  if (kind === 'workflow') {
    const { workflowId, stepId, index, payload } = question as Question
    return { workflow: { runId: subject ?? '', workflowId, stepId, index, payload } }
  }
  if (kind === 'budget') {
    return { budget: { executionId: subject ?? '', limit: (question as { limit: number }).limit } }
  }
  return {}
}
