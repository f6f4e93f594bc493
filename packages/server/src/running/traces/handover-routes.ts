import { handoverLimits, succeeded, traceHandoverRoutes } from '@guildhall/contract'
import { agentSlugOf, bindRoutes, type Call } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import { createOnce } from '#operations/idempotency/idempotency.ts'
import type { Principal } from '#operations/principal.ts'
import type { Bus } from '#platform/bus.ts'
import type { Db } from '#platform/database.ts'
import { briefTrace, findSubject } from './briefing.ts'
import { howToContinue } from './describe.ts'
import {
  createHandover,
  describeHandover,
  type HandoverParts,
  isOver,
  type Party,
  pickUp,
} from './handover.ts'
import * as handovers from './handover-store.ts'
import { lookingOf } from './looking.ts'
import { requireClaimable, requireRevocable, requireTrace, requireTraceToGoOn } from './rights.ts'
import { traceChannel } from './tail.ts'

export function handoverHandlers(parts: HandoverParts & { readonly bus: Bus }) {
  const { database, config, bus } = parts
  const { db } = database
  return bindRoutes(traceHandoverRoutes, {
    createHandover: async (call) => {
      const { principal, params, client } = call
      const { note = null, reach = 'workspace', toAgentSlug = null, expiresInSeconds } = call.body ?? {}
      // It moves data between workspaces, which no agent decides.
      if (reach === 'person' && (principal.kind !== 'session' || client.via !== 'http'))
        throw new ApiError('FORBIDDEN', {
          message:
            'reach=person is for a person who is signed in; leave it out to hand over within the workspace',
        })
      await requireTraceToGoOn(call, params.id)
      const seconds = expiresInSeconds ?? handoverLimits.usualSeconds
      const offer = { note, reach, toAgentSlug, expiresInSeconds: seconds }
      return parts.numbering.alone({ workspaceId: principal.workspaceId, id: params.id }, () =>
        createOnce(call, async (tx) => {
          const answer = await createHandover(tx, config.keyPeppers, partyOf(call), params.id, offer)
          return { resourceId: answer.handoverId, answer }
        }),
      )
    },

    listHandovers: async (call) => {
      const { id, workspace_id: workspaceId } = await requireTrace(call, call.params.id)
      const rows = await handovers.listHandovers(db, workspaceId, id)
      return { items: rows.map(describeHandover) }
    },

    revokeHandover: async (call) => {
      const { params, access } = call
      const { handoverId } = params
      const { id: traceId, workspace_id: workspaceId } = await requireTrace(call, params.id)
      const find = (on: Db) => handovers.findHandover(on, workspaceId, traceId, handoverId)
      const found = await find(db)
      if (!found) throw new ApiError('NOT_FOUND')
      await requireRevocable(call, found)
      await database.transaction(async (tx) => {
        const revoked = await handovers.updateRevoked(tx, handoverId)
        if (!revoked && found.status !== 'revoked') throw isOver((await find(tx)) ?? found)
        await access.spend(tx)
      })
      return succeeded
    },

    pickUpTrace: async (call) => {
      const { body, principal } = call
      const party = partyOf(call)
      // Who has to come again is told so while nothing has changed.
      const looking = lookingOf(call)
      await looking.begin()
      looking.end()
      const { traceId, note, copied } = await pickUp(parts, party, body.code, looking, {
        require: (found) => requireClaimable(call, found),
        spend: (tx) => call.access.spend(tx),
      })
      bus.wake(traceChannel(traceId))
      const subject = await findSubject(parts, principal.workspaceId, traceId)
      if (!subject) throw new ApiError('NOT_FOUND')
      const { markdown, throughSeq } = await briefTrace(parts, subject, looking)
      return {
        traceId,
        traceKey: subject.traceKey,
        kind: subject.kind,
        title: subject.title,
        lastSeq: throughSeq,
        brief: markdown,
        note,
        ...howToContinue(traceId),
        copied,
      }
    },
  })
}

function partyOf(call: Pick<Call, 'client' | 'origin'> & { readonly principal: Principal }): Party {
  const { workspaceId, userId, apiKeyId } = call.principal
  return { workspaceId, userId, apiKeyId, agentSlug: agentSlugOf(call) }
}
