import { type Static, Type } from 'typebox'
import { longPollMaxSeconds } from './limits.ts'
import { defineRoutes } from './route.ts'
import { AnyFields, IdParam, Limit, Nullable, RowNumber, Success, Timestamp } from './shapes.ts'
import { openInput } from './weight.ts'

/** One thing that was said, done or answered; what produces and what appends turns knows no other types. */
export const turnTypes = [
  'user.message',
  'agent.text',
  'agent.thinking',
  'tool.call',
  'tool.result',
  'error',
] as const
export type TurnType = (typeof turnTypes)[number]

export const traceKinds = ['execution', 'chat'] as const
export const traceStatuses = ['idle', 'running', 'waiting', 'completed', 'failed'] as const

/** Of one append, and of all appends to one trace. */
export const appendLimits = {
  events: 500,
  payloadBytes: 65_536,
  turnsPerTrace: 100_000,
  /** A given number lies at most so far above the last: else one caller uses up the numbers of all. */
  seqLeap: 1_000_000,
} as const

const TraceKind = Type.Enum(traceKinds)
const Seq = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

export const Trace = Type.Object(
  {
    id: Type.String(),
    kind: TraceKind,
    title: Type.String(),
    status: Type.Enum(traceStatuses),
    actor: Type.Object({
      userId: Type.String(),
      apiKeyId: Nullable(Type.Number()),
      agentSlug: Nullable(
        Type.String({ description: 'What whoever started it called itself; attribution only' }),
      ),
    }),
    target: Type.Object(
      { kind: TraceKind, executionId: Type.Optional(Type.String()) },
      { description: 'What it is the trace of; for an execution the one that ran last on it' },
    ),
    totalCost: Type.Number({
      description:
        'In Ds, of all traces with this traceKey together and of what runs now. It never falls, also when something ends free of charge',
    }),
    ownCost: Type.Number({ description: 'In Ds, of this trace alone; add these up, not totalCost' }),
    startedAt: Timestamp,
    lastActivityAt: Timestamp,
    traceKey: Type.String({
      description: 'The lineage: a rerun has that of what it repeats, a remix a new one',
    }),
    parentTraceId: Nullable(Type.String({ description: 'The trace of what was run again or remixed' })),
    lastSeq: Type.Integer({
      description: 'The highest number given so far; numbers are given when turns are first read',
    }),
    holder: Type.Union([
      Type.Object({
        apiKeyId: Nullable(Type.Number()),
        agentSlug: Nullable(Type.String()),
        since: Timestamp,
      }),
      Type.Null(),
    ]),
  },
  { title: 'Trace' },
)
export type Trace = Static<typeof Trace>

export const TraceTurn = Type.Object(
  {
    seq: Type.Integer({ description: 'Rises within a trace; not every number is used' }),
    type: Type.Enum(turnTypes),
    payload: AnyFields,
    actorAgentSlug: Nullable(Type.String()),
    at: Timestamp,
    origin: Type.Enum(['producer', 'appended'], {
      description: 'producer: read from the log of what ran; appended: posted to the trace',
    }),
  },
  { title: 'TraceTurn' },
)
export type TraceTurn = Static<typeof TraceTurn>

const shared = { tag: 'traces', audience: 'credential', limits: ['rest'] } as const
const reads = { ...shared, oauthScopes: ['trace:read'] } as const
const writes = { ...shared, oauthScopes: ['trace:write'] } as const
const Moment = Type.Optional(
  Type.String({ maxLength: 40, description: 'A day (YYYY-MM-DD) or an ISO 8601 time' }),
)

export const traceRoutes = defineRoutes({
  listTraces: {
    method: 'GET',
    path: '/api/v1/traces',
    summary: 'What agents did in this workspace, the latest activity first',
    description:
      'A key without agent:message is told of no conversations. What becomes active while you page moves to the front: walk to the end, then once more with since=<asOf of the first page>, and nothing is missed.',
    resource: 'traces',
    verb: 'list',
    page: 'cursor',
    ...reads,
    query: Type.Object({
      kind: Type.Optional(TraceKind),
      status: Type.Optional(
        Type.String({ maxLength: 64, description: `One of ${traceStatuses.join(', ')}` }),
      ),
      agent: Type.Optional(Type.String({ maxLength: 64, description: 'A slug' })),
      apiKey: Type.Optional(RowNumber),
      since: Moment,
      until: Moment,
      limit: Limit(200),
      cursor: Type.Optional(Type.String({ maxLength: 300 })),
    }),
    responses: {
      200: Type.Object({
        items: Type.Array(Trace),
        nextCursor: Nullable(Type.String()),
        asOf: Type.String({
          format: 'date-time',
          description: 'All activity before this moment is in what this walk shows',
        }),
      }),
    },
    errors: ['INVALID_INPUT'],
    example: { answers: { 200: { items: [], nextCursor: null, asOf: '2026-11-15T09:30:00.000Z' } } },
  },
  getTrace: {
    method: 'GET',
    path: '/api/v1/traces/:id',
    summary: 'One trace',
    description: 'As a list shows it.',
    resource: 'traces',
    verb: 'get',
    ...reads,
    params: IdParam,
    responses: { 200: Trace },
    errors: ['NOT_FOUND'],
  },
  getTraceEvents: {
    method: 'GET',
    path: '/api/v1/traces/:id/events',
    summary: 'The turns of a trace in their order, whoever they come from',
    description:
      'Go on with afterSeq=<seq of the last item>: what comes later has a higher number. A page of large turns has fewer than limit; only an empty one is the end. With `wait` it answers as soon as there is a turn.',
    resource: 'traces',
    verb: 'events',
    ...reads,
    params: IdParam,
    query: Type.Object({
      afterSeq: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
      limit: Limit(500),
      wait: Type.Optional(
        Type.Integer({ minimum: 0, maximum: longPollMaxSeconds, description: 'Seconds to wait for a turn' }),
      ),
    }),
    responses: {
      200: Type.Object({
        items: Type.Array(TraceTurn),
        lastSeq: Type.Integer({ description: 'The highest number given so far' }),
        expiredThroughSeq: Type.Optional(
          Type.Integer({ description: 'Turns of a producer up to here are no longer kept' }),
        ),
      }),
    },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
  },
  appendTraceEvents: {
    changes: ['traces'],
    method: 'POST',
    path: '/api/v1/traces/:id/events',
    summary: 'Append turns; all of them or none',
    description:
      'A number that was given and stored before is 409, and details.conflicts says whether it is the same turn: then it has landed. 400 SEQ_NOT_ABOVE_LAST: nothing is stored; send it without a number.',
    resource: 'traces',
    verb: 'append',
    ...writes,
    creates: true,
    namesAgent: true,
    params: IdParam,
    weight: openInput,
    body: Type.Object({
      events: Type.Array(
        Type.Object({
          type: Type.Enum(turnTypes),
          payload: AnyFields,
          seq: Type.Optional(Seq),
        }),
        { minItems: 1, maxItems: appendLimits.events },
      ),
    }),
    responses: { 201: Type.Object({ appended: Type.Integer(), lastSeq: Type.Integer() }) },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT'],
    example: {
      body: { events: [{ type: 'agent.text', payload: { content: [{ type: 'text', text: 'Checked.' }] } }] },
      answers: { 201: { appended: 1, lastSeq: 12 } },
    },
  },
  markTraceTurns: {
    method: 'POST',
    path: '/api/v1/traces/:id/marks',
    summary: 'Mark turns that must not leave with the trace',
    description:
      'Exports, briefs and copies have nothing of them but the number, whoever makes them. Whoever may read the trace still can. Marking twice is as once; 400 for a number that no turn has been given yet.',
    resource: 'traces',
    verb: 'mark',
    ...shared,
    audience: 'session',
    changes: ['traces'],
    params: IdParam,
    body: Type.Object({
      seqs: Type.Array(Seq, { minItems: 1, maxItems: 500 }),
      reason: Type.Optional(Type.String({ maxLength: 500 })),
    }),
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
    example: { body: { seqs: [3, 4], reason: 'A customer is named' } },
  },
  unmarkTraceTurns: {
    method: 'DELETE',
    path: '/api/v1/traces/:id/marks',
    summary: 'Let marked turns leave with the trace again',
    description: 'What is not marked stays as it is.',
    resource: 'traces',
    verb: 'unmark',
    ...shared,
    audience: 'session',
    changes: ['traces'],
    params: IdParam,
    body: Type.Object({ seqs: Type.Array(Seq, { minItems: 1, maxItems: 500 }) }),
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
    example: { body: { seqs: [3] } },
  },
  eraseTraceTurn: {
    method: 'POST',
    path: '/api/v1/traces/:id/events/:seq/redact',
    summary: 'Erase what one turn says, for good',
    description:
      'Its number and type stay, its payload becomes { "redacted": true }, also in the log of what produced it and in its stream. Nobody gets it back. What else repeats it, such as files and later turns, is not touched. 400 for the turn that tells how something ended.',
    resource: 'traces',
    verb: 'erase',
    ...shared,
    audience: 'session',
    changes: ['traces'],
    params: Type.Object({ id: Type.String(), seq: Type.String({ maxLength: 20 }) }),
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
  },
  continueTrace: {
    changes: [],
    method: 'POST',
    path: '/api/v1/traces/:id/continue',
    summary: 'How to go on with a trace; starts nothing',
    description:
      'Send continueWith as it is: the execution lands on this trace. Turns of your own go to appendEventsTo.',
    resource: 'traces',
    verb: 'continue',
    ...writes,
    params: IdParam,
    responses: {
      200: Type.Object({
        status: Type.Literal('continuation_required'),
        traceId: Type.String(),
        kind: TraceKind,
        traceKey: Type.String(),
        continueWith: Type.Object({
          method: Type.Literal('POST'),
          path: Type.String(),
          body: Type.Object({ sessionId: Type.String() }),
        }),
        appendEventsTo: Type.String(),
      }),
    },
    errors: ['NOT_FOUND'],
    example: {
      answers: {
        200: {
          status: 'continuation_required',
          traceId: 'trace_51aa',
          kind: 'execution',
          traceKey: 'lineage_9c04',
          continueWith: { method: 'POST', path: '/api/v1/executions', body: { sessionId: 'trace_51aa' } },
          appendEventsTo: '/api/v1/traces/trace_51aa/events',
        },
      },
    },
  },
})
