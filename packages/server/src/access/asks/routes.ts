import { approvalPollIntervalSeconds, askRoutes, succeeded } from '@guildhall/contract'
import {
  type Asked,
  announceApprovals,
  approvalUrl,
  waitForDecision,
  withdrawRequest,
} from '#access/approvals/approvals.ts'
import { bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { createOnce } from '#operations/idempotency/idempotency.ts'
import type { Bus } from '#platform/bus.ts'
import { type AskAnswer, askPerson } from './asks.ts'

const names = { pending: 'pending', granted: 'answered', denied: 'denied', expired: 'expired' } as const

export function askFeature(bus: Bus): Feature {
  const routes = bindRoutes(askRoutes, {
    askPerson: async (call) => {
      const { principal, body, deps } = call
      const { question, action, choices, schema, expires_in: expiresIn } = body
      const made: { asked?: Asked } = {}
      const answer = await createOnce(call, async (tx) => {
        const asked = await askPerson(tx, principal, { question, action, choices, schema, expiresIn })
        made.asked = asked
        const answer = {
          status: 'pending' as const,
          ask_id: asked.id,
          approval_url: approvalUrl(deps.config, asked.id),
          poll_url: `/api/v1/agents/ask/poll/${asked.id}`,
          poll_interval_seconds: approvalPollIntervalSeconds,
        }
        return { resourceId: asked.id, answer }
      })
      const { workspaceId, userId } = principal
      if (made.asked?.isNew)
        await announceApprovals({ ...deps, bus }, { kind: 'ask', workspaceId, userId, ids: [made.asked.id] })
      return answer
    },

    pollAsk: async ({ principal, params, query, deps, signal }) => {
      const own = { keyId: principal.credentialId, kind: 'ask', id: params.askId } as const
      const { state, closed, answer, denyReason } = await waitForDecision(deps, bus, own, {
        wait: query.wait,
        signal,
      })
      return {
        status: closed === 'withdrawn' ? closed : names[state],
        ...(answer as AskAnswer | null),
        ...(denyReason !== null && { deny_reason: denyReason }),
      }
    },

    withdrawAsk: async ({ principal, params, body, deps, signal }) => {
      const { workspaceId, userId, credentialId: keyId } = principal
      const own = { keyId, kind: 'ask', id: params.askId } as const
      if (await withdrawRequest(deps, bus, own, body.because?.trim() || null)) {
        const word = { kind: 'ask', workspaceId, userId, ids: [own.id], status: 'expired' } as const
        await announceApprovals({ ...deps, bus }, word)
        return succeeded
      }
      const { state, closed } = await waitForDecision(deps, bus, own, { signal })
      if (closed === 'withdrawn') return succeeded
      throw new ApiError('CONFLICT', {
        message:
          state === 'expired'
            ? 'This ask has expired; ask again'
            : `This ask is already ${names[state]}; poll it for what was said`,
        details: { status: names[state] },
      })
    },
  })
  return { routes }
}
