import { Type } from 'typebox'
import { ExecutionStreamEvent } from './execution-events.ts'
import { executionRoutes } from './executions.ts'
import { defineRoutes } from './route.ts'

const stream = {
  method: 'GET',
  tag: 'executions',
  resource: 'executions',
  limits: ['stream'],
  params: executionRoutes.getStreamToken.params,
  answers: 'events',
  responses: { 200: ExecutionStreamEvent },
  errors: ['NOT_FOUND'],
} as const

const Position = { lastSeq: Type.Optional(Type.String()), deltas: Type.Optional(Type.String()) }

/** Answers that stay open. */
export const executionStreamRoutes = defineRoutes({
  streamExecution: {
    ...stream,
    path: '/api/v1/executions/:executionId/stream',
    summary: 'The events of an execution, from any place on, at the signed address that stream-token answers',
    description:
      'The address is good for a minute and opens this one stream, with no other credential. To go on after a cut, send the last sequence that was seen.',
    verb: 'stream',
    audience: 'signed',
    signedFor: 'execution-stream:{executionId}',
    query: Type.Object({ ...Position, token: Type.Optional(Type.String()) }),
  },
  streamExecutionDirectly: {
    ...stream,
    path: executionRoutes.getStreamToken.path,
    accept: 'text/event-stream',
    verb: 'streamDirectly',
    description:
      'For programs: browsers cannot send a header with an event source, and take the signed address.',
    summary: 'The same for a client that sends its credential and asks the path that it was told for events',
    audience: 'credential',
    query: Type.Object(Position),
  },
})
