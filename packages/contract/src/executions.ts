import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { anySkill } from './scopes.ts'
import { Limit, Nullable, Offset, Timestamp } from './shapes.ts'

/** What an execution is given to work on, in bytes of UTF-8. */
export const inputBytes = 102_400
export const executionTimeoutSeconds = 65 * 60
export const idleExecutionSeconds = 24 * 3600
const maxAttachments = 20
const maxEvents = 20

const ExecutionParam = Type.Object({ executionId: Type.String() })
const Input = Type.String({ minLength: 1 })
const Label = Type.String({ minLength: 1, maxLength: 64 })

/** Counted by the interface; read as what an agent may spend at most. */
const MaxCost = Type.Number({ exclusiveMinimum: 0, maximum: 1_000_000, description: 'In Ds' })
export const Attachment = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 200 }),
    mimeType: Type.Optional(Type.String({ maxLength: 200 })),
    artifactId: Type.Optional(Type.String({ maxLength: 100 })),
    data: Type.Optional(Type.String({ description: 'Base64' })),
  },
  { title: 'Attachment' },
)
export type Attachment = Static<typeof Attachment>
/** Which connected application a run wants to use; kept as it is sent. */
const Connector = Type.Record(Type.String(), Type.Unknown())
const Attachments = Type.Array(Attachment, { maxItems: maxAttachments })

const Status = Type.Enum(['idle', 'working', 'completed', 'failed'])
const StopReason = Nullable(Type.String({ description: 'end_turn, interrupt, limit_reached or error' }))

/** Base64 takes a third more than the bytes it stands for, and all attachments together may be 10 MB. */
const startBodyBytes = 14_500_000

const Event = Type.Object({
  id: Type.String(),
  type: Type.String(),
  sequence: Type.Integer(),
  payload: Type.Record(Type.String(), Type.Unknown()),
})

export const Execution = Type.Object(
  {
    id: Type.Number(),
    executionId: Type.String(),
    skillSlug: Type.String(),
    skillName: Type.String(),
    skillVersion: Type.Number(),
    status: Status,
    stopReason: StopReason,
    errorCode: Nullable(Type.String()),
    cost: Type.Number(),
    source: Type.String(),
    interface: Type.String(),
    inputText: Type.String(),
    startedAt: Nullable(Timestamp),
    completedAt: Nullable(Timestamp),
    queuedAt: Nullable(Timestamp),
    traceId: Type.String(),
    parentExecutionId: Type.Optional(Type.String()),
  },
  { title: 'Execution' },
)
export type Execution = Static<typeof Execution>

const flatErrors = [
  'INVALID_INPUT',
  'NOT_FOUND',
  'INSUFFICIENT_CREDITS',
  'EXECUTION_RUNNING',
  'EXECUTION_FAILED',
] as const

export const executionRoutes = defineRoutes({
  runSkill: {
    method: 'POST',
    path: '/api/v1/skills/:slug/run',
    summary: 'Start a skill at once; watch it through its stream',
    tag: 'executions',
    audience: 'credential',
    scopes: ['tool:execute:{slug}'],
    limits: ['rest', 'skillRun'],
    creates: true,
    flatErrors,
    bodyLimitBytes: startBodyBytes,
    params: Type.Object({ slug: Type.String() }),
    body: Type.Object({
      input: Input,
      attachments: Type.Optional(Attachments),
      connector: Type.Optional(Connector),
      maxCost: Type.Optional(MaxCost),
      source: Type.Optional(Label),
      interface: Type.Optional(Label),
    }),
    responses: {
      200: Type.Object({
        executionId: Type.String(),
        skillName: Type.String(),
        status: Type.Literal('started'),
        message: Type.String(),
        sseUrl: Type.String({
          description:
            'A path: asked for text/event-stream it is the stream, otherwise it answers a signed address of it',
        }),
        details: Type.Optional(
          Type.Object({ connector: Type.Object({ available: Type.Boolean(), message: Type.String() }) }),
        ),
      }),
    },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'INSUFFICIENT_CREDITS', 'EXECUTION_RUNNING', 'EXECUTION_FAILED'],
    // While the skill itself is being installed or removed.
    alsoStatus: { EXECUTION_RUNNING: 409 },
  },
  createExecution: {
    method: 'POST',
    path: '/api/v1/executions',
    summary: 'Prepare an execution; nothing runs until a user.message is posted to it',
    tag: 'executions',
    audience: 'credential',
    limits: ['rest'],
    creates: true,
    bodyLimitBytes: startBodyBytes,
    body: Type.Object({
      skill_slug: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      input: Type.Optional(Input),
      source: Type.Optional(Label),
      interface: Type.Optional(Label),
      sessionId: Type.Optional(Type.String({ maxLength: 100, description: 'A trace to go on with' })),
      remixOf: Type.Optional(Type.String({ maxLength: 100 })),
      maxCost: Type.Optional(MaxCost),
      attachments: Type.Optional(Attachments),
    }),
    responses: {
      200: Type.Object({
        id: Type.String(),
        skill_slug: Type.String(),
        skill_name: Type.String(),
        status: Type.Literal('idle'),
      }),
    },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
  },
  listExecutions: {
    method: 'GET',
    path: '/api/v1/executions',
    summary: 'The executions of this workspace, newest first',
    tag: 'executions',
    audience: 'credential',
    limits: ['rest'],
    query: Type.Object({
      limit: Limit(200),
      offset: Offset(),
      channels: Type.Optional(Type.String({ maxLength: 1000 })),
      interfaces: Type.Optional(Type.String({ maxLength: 1000 })),
    }),
    responses: {
      200: Type.Object({
        items: Type.Array(Execution),
        hasMore: Type.Boolean(),
        offset: Type.Number(),
        limit: Type.Number(),
      }),
    },
    errors: ['INVALID_INPUT'],
  },
  getExecutionStatus: {
    method: 'GET',
    path: '/api/v1/executions/:executionId/status',
    summary: 'How far an execution is, and what has come out of it',
    tag: 'executions',
    audience: 'credential',
    limits: ['rest'],
    params: ExecutionParam,
    responses: {
      200: Type.Object({
        executionId: Type.String(),
        status: Status,
        skillSlug: Type.String(),
        skillName: Type.String(),
        skillVersion: Type.Number(),
        stopReason: StopReason,
        errorCode: Nullable(Type.String()),
        traceId: Type.String(),
        cost: Type.Number(),
        queuedAt: Nullable(Timestamp),
        startedAt: Nullable(Timestamp),
        completedAt: Nullable(Timestamp),
        parentExecutionId: Type.Optional(Type.String()),
        connector: Type.Optional(Connector),
        outputBlocks: Type.Array(
          Type.Object(
            { sequence: Type.Integer(), type: Type.Enum(['text', 'tool', 'file', 'json', 'error']) },
            { additionalProperties: true },
          ),
        ),
      }),
    },
    errors: ['NOT_FOUND'],
  },
  getStreamToken: {
    method: 'GET',
    path: '/api/v1/executions/:executionId/stream-token',
    summary: 'An address at which the events can be read for whoever holds it; open it within a minute',
    tag: 'executions',
    audience: 'credential',
    limits: ['rest'],
    params: ExecutionParam,
    responses: { 200: Type.Object({ sseUrl: Type.String() }) },
    errors: ['NOT_FOUND'],
  },
  postExecutionEvents: {
    method: 'POST',
    path: '/api/v1/executions/:executionId/events',
    summary:
      'Start a prepared execution with a user.message, or end one with a user.interrupt; several are taken in order, all or none',
    tag: 'executions',
    audience: 'credential',
    scopesBeyondOwn: [anySkill],
    limits: ['rest'],
    flatErrors: ['INSUFFICIENT_CREDITS', 'EXECUTION_RUNNING', 'EXECUTION_FAILED'],
    params: ExecutionParam,
    body: Type.Object({
      events: Type.Array(
        Type.Union([
          Type.Object({
            type: Type.Literal('user.message'),
            content: Type.Array(Type.Object({ type: Type.Literal('text'), text: Type.String() }), {
              minItems: 1,
              maxItems: 50,
            }),
          }),
          Type.Object({ type: Type.Literal('user.interrupt') }),
        ]),
        { minItems: 1, maxItems: maxEvents },
      ),
      ifBusy: Type.Optional(Type.Enum(['reject', 'queue'])),
      maxCost: Type.Optional(MaxCost),
    }),
    responses: { 200: Type.Object({ data: Type.Array(Event) }) },
    errors: [
      'INVALID_INPUT',
      'FORBIDDEN',
      'NOT_FOUND',
      'CONFLICT',
      'INSUFFICIENT_CREDITS',
      'EXECUTION_RUNNING',
      'EXECUTION_FAILED',
    ],
  },
  rerunExecution: {
    method: 'POST',
    path: '/api/v1/executions/:executionId/rerun',
    summary: 'Run the same skill again with another input, linked to this execution',
    tag: 'executions',
    audience: 'credential',
    scopes: [anySkill],
    limits: ['rest', 'skillRun'],
    creates: true,
    flatErrors: ['INSUFFICIENT_CREDITS', 'EXECUTION_RUNNING', 'EXECUTION_FAILED'],
    params: ExecutionParam,
    bodyLimitBytes: startBodyBytes,
    body: Type.Object({
      input: Input,
      maxCost: Type.Optional(MaxCost),
      attachments: Type.Optional(
        Type.Array(Attachment, {
          maxItems: maxAttachments,
          description: 'Left out, it gets those of the execution that is run again',
        }),
      ),
    }),
    responses: {
      200: Type.Object({
        executionId: Type.String(),
        parentExecutionId: Type.String(),
        skillName: Type.String(),
        status: Type.Literal('started'),
        message: Type.String(),
      }),
    },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'INSUFFICIENT_CREDITS', 'EXECUTION_RUNNING', 'EXECUTION_FAILED'],
  },
  cancelExecution: {
    method: 'POST',
    path: '/api/v1/executions/:executionId/cancel',
    summary: 'End an execution and every process of it',
    tag: 'executions',
    audience: 'credential',
    scopesBeyondOwn: [anySkill],
    limits: ['rest'],
    params: ExecutionParam,
    responses: {
      200: Type.Object({
        success: Type.Boolean(),
        message: Type.String(),
        processKilled: Type.Boolean(),
        actualStatus: Type.String(),
      }),
    },
    errors: ['NOT_FOUND'],
  },
})
