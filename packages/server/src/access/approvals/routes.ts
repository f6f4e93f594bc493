import { approvalRoutes, succeeded } from '@guildhall/contract'
import { describeDecider, describeScopes } from '#access/activation/activation.ts'
import type { Doer } from '#operations/actor.ts'
import { bindRoutes, type Call, type Client } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { changeOnce } from '#operations/idempotency/idempotency.ts'
import { decodeCursor, timePart, toPage } from '#operations/page.ts'
import type { Deps } from '#platform/deps.ts'
import { networkOf } from '#platform/network.ts'
import { toCard } from './card.ts'
import { type Approvals, refusal } from './decide.ts'
import { approvalUrl, describeKey } from './describe.ts'
import type { Decision, KeepDecision } from './kinds.ts'
import * as store from './store.ts'

const defaultPage = 50
const idPattern = /^[a-z]+_[\w-]{1,80}$/
const idPart = (text: string) => idPattern.test(text)

export function approvalFeature({ config, database }: Deps, approvals: Approvals): Feature {
  type Deciding = Call<(typeof approvalRoutes)['approveApproval' | 'denyApproval']>
  const decide = <R extends Deciding>(call: R, decision: Decision) =>
    changeOnce(call, async (record) => {
      const { id } = call.params
      const keep: KeepDecision = (tx, _effect, ownId = id) => record(tx, succeeded, ownId)
      await approvals.decide(call.principal, id, decision, { keep })
      return succeeded
    })

  const routes = bindRoutes(approvalRoutes, {
    listApprovals: async ({ principal, query, client }) => {
      const limit = query.limit ?? defaultPage
      const [createdAt = '', id = ''] = query.cursor ? decodeCursor(query.cursor, [timePart, idPart]) : []
      const rows = await approvals.list(principal, {
        status: query.status,
        kind: query.kind,
        limit: limit + 1,
        after: query.cursor ? { createdAt, id } : undefined,
      })
      const toItem = (row: InboxItem) => {
        const item = describeApproval(config, row, { viewer: principal, client })
        return query.view === 'card' ? { ...item, action: toCard(row.action) as never } : item
      }
      const hasMore = (rows[0]?.found ?? 0) > Math.min(rows.length, limit)
      return toPage(rows, limit, toItem, (row) => [row.created_at, row.id], hasMore)
    },

    getApproval: async ({ principal, params, query, client, signal }) => {
      const found = await approvals.read(principal, params.id, { wait: query.wait, signal })
      if (!found) throw new ApiError('NOT_FOUND')
      return describeApproval(config, found, { viewer: principal, client })
    },

    approveApproval: async (call) => {
      const { body } = call
      const choice = {
        resumeData: body.resumeData,
        amount: body.amount,
        choice: body.choice,
        answer: body.answer,
        editedArgs: body.edited_args,
        deviceAuth: body.device_auth,
      }
      return decide(call, { status: 'granted', choice })
    },

    denyApproval: (call) => decide(call, refusal(call.body.reason)),

    challengeApproval: ({ principal, params, body }) =>
      approvals.challenge(principal, params.id, {
        scopes: body.scopes,
        modes: body.modes,
        choice: body.choice,
      }),
  })
  return {
    routes,
    sweeps: [{ table: 'approval_requests', run: () => store.deleteOldRequests(database.db) }],
  }
}

type InboxItem = Awaited<ReturnType<Approvals['list']>>[number]

/** As whoever looks may see it, from where they look. */
function describeApproval(
  config: Deps['config'],
  row: InboxItem,
  { viewer, client }: { viewer: Doer; client: Client },
) {
  const pairing = row.kind === 'activation' && {
    label: row.client_label ?? '',
    ua: row.client_ua ?? '',
    ip: row.client_ip ?? '',
    same_network: row.client_network === networkOf(client.address),
  }
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
    client: pairing || null,
    code: row.code,
    deny_reason: row.deny_reason,
    ...row.more,
    times: row.times,
    history: { asked: row.asked, allowed: row.allowed, denied: row.denied },
    approval_url: approvalUrl(config, row.id),
    created_at: row.created_at,
    expires_at: row.expires_at,
    decided_at: row.decided_at,
    decided_by: describeDecider(row, viewer),
  }
}
