import { Type } from 'typebox'
import { defineRoutes } from './route.ts'

/** What a control-plane socket says: bare JSON objects, never replayed; refetch after a reconnect. */
export interface LiveEvent {
  readonly type:
    | 'cache-invalidate'
    | 'execution-started'
    | 'execution-progress'
    | 'execution-completed'
    | 'execution-failed'
    | 'approval-requested'
    | 'approval-resolved'
    | 'workflow-run-updated'
  readonly id: string
  readonly workspaceId: string
  readonly at: string
  readonly [field: string]: unknown
}

export const liveRoutes = defineRoutes({
  getSubscribeUrl: {
    method: 'GET',
    path: '/api/v1/events/subscribe-url',
    summary: "A single-use address of this credential's event socket",
    tag: 'events',
    audience: 'credential',
    limits: ['rest'],
    responses: { 200: Type.Object({ url: Type.String(), expiresInMs: Type.Number() }) },
    errors: [],
  },
})
