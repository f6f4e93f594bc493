import { Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { IdParam, RowNumber } from './shapes.ts'

/** How many keys one request can end. */
export const keysRevokedAtOnce = 100

const StopRunning = Type.Object({ stopRunning: Type.Optional(Type.Boolean()) })

/** What ended together with the key. */
const ended = {
  stopped: Type.Number({ description: 'How many executions and runs were ended' }),
  stoppedRuns: Type.Number({ description: 'How many of these were runs of workflows and of chats' }),
  endedGrants: Type.Number({ description: 'Permissions for a time that were not used up' }),
  droppedRequests: Type.Number({ description: 'What it had asked and nobody can decide any more' }),
}
const endedExample = { stopped: 2, stoppedRuns: 1, endedGrants: 1, droppedRequests: 0 }

/** The ways in which a key ends before its time. */
export const keyEndRoutes = defineRoutes({
  revokeKey: {
    method: 'DELETE',
    path: '/api/v1/keys/:id',
    summary: 'Revoke a key for good; with stopRunning, also once more for what a revoked one still runs',
    description:
      'Works in every process at once. With stopRunning what the key has started is stopped and counted.',
    resource: 'keys',
    verb: 'revoke',
    tag: 'keys',
    audience: 'session',
    changes: ['keys'],
    limits: ['rest'],
    params: IdParam,
    query: StopRunning,
    responses: { 200: Type.Object({ success: Type.Literal(true), ...ended }) },
    errors: ['NOT_FOUND'],
    example: { answers: { 200: { success: true, ...endedExample } } },
  },
  revokeKeys: {
    method: 'POST',
    path: '/api/v1/keys/revoke',
    summary: 'Revoke several keys together, or all that nobody has used for 30 days',
    description:
      'Send ids, or dormant. All of them end in one step or none does: 404 when one is not yours. What was revoked before counts as done, so it can be sent again.',
    resource: 'keys',
    verb: 'revokeMany',
    tag: 'keys',
    audience: 'session',
    changes: ['keys'],
    limits: ['rest'],
    body: Type.Object({
      ids: Type.Optional(Type.Array(RowNumber, { minItems: 1, maxItems: keysRevokedAtOnce })),
      dormant: Type.Optional(
        Type.Boolean({ description: 'Those whose activity is DORMANT, the oldest first, at most 100' }),
      ),
      stopRunning: Type.Optional(Type.Boolean()),
    }),
    responses: {
      200: Type.Object({
        success: Type.Literal(true),
        revoked: Type.Array(Type.Number(), { description: 'The keys that have ended, by id' }),
        more: Type.Boolean({ description: 'There are more dormant ones: send it again' }),
        ...ended,
      }),
    },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
    example: {
      body: { ids: [12, 13], stopRunning: true },
      answers: { 200: { success: true, revoked: [12, 13], more: false, ...endedExample } },
    },
  },
  revokeOwnKey: {
    method: 'DELETE',
    path: '/api/v1/agents/me',
    summary: 'End the key that asks, at once and in every process',
    description:
      'For an agent that signs out or has leaked its key. With stopRunning what it runs is ended too. From then on the key gets 401.',
    resource: 'keys',
    verb: 'revokeSelf',
    tag: 'agents',
    audience: 'key',
    changes: ['keys'],
    limits: ['rest'],
    query: StopRunning,
    responses: { 200: Type.Object({ success: Type.Literal(true), ...ended }) },
    errors: [],
    example: { answers: { 200: { success: true, ...endedExample } } },
  },
  reportLeakedKey: {
    method: 'POST',
    path: '/api/v1/keys/report-leak',
    summary: 'Anybody who finds a key can have it revoked by presenting it',
    description: 'Needs no credential and tells nothing about the key but whether it worked until now.',
    resource: 'keys',
    verb: 'reportLeak',
    tag: 'keys',
    audience: 'public',
    changes: [],
    limits: ['rest'],
    body: Type.Object({ key: Type.String({ maxLength: 300 }) }),
    responses: { 200: Type.Object({ success: Type.Literal(true), revoked: Type.Boolean() }) },
    errors: ['INVALID_INPUT'],
    example: { body: { key: 'guild_live_3fX9aB…' }, answers: { 200: { success: true, revoked: true } } },
  },
})
