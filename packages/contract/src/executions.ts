import { type Static, Type } from 'typebox'
import { ExecutionEvent, ExecutionStreamEvent } from './execution-events.ts'
import { Execution, ExecutionState, ExecutionStatus } from './execution-records.ts'
import { defineRoutes } from './route.ts'
import { anySkill } from './scopes.ts'
import { AnyFields, Limit, Nullable, Offset, shownAs } from './shapes.ts'
import { openInput } from './weight.ts'

/** What an execution is given to work on, in bytes of UTF-8. */
export const inputBytes = 102_400
export const executionTimeoutSeconds = 65 * 60
export const idleExecutionSeconds = 24 * 3600
const maxAttachments = 20
const maxEvents = 20

const ExecutionParam = Type.Object({ executionId: Type.String() })
const Input = Type.String({ description: 'What the skill is asked to do; it may be empty' })
const Label = Type.String({ minLength: 1, maxLength: 64 })
const Interface = Type.String({ maxLength: 255, description: 'Where it was asked for, in any words' })

/** Counted by the interface; read as what an agent may spend at most. */
const MaxCost = Type.Number({ exclusiveMinimum: 0, maximum: 1_000_000, description: 'In Ds' })
/** The default is `reject`. */
const IfBusy = Type.Enum(['reject', 'queue'], {
  description: 'When another execution works: refuse, or wait for its turn',
})
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
const Attachments = Type.Array(Attachment, { maxItems: maxAttachments })

/** Base64 takes a third more than the bytes it stands for, and all attachments together may be 10 MB. */
const startBodyBytes = 14_500_000

const Event = shownAs(
  Type.Object({
    id: Type.String(),
    type: Type.String(),
    sequence: Type.Integer(),
    payload: Type.Record(Type.String(), Type.Unknown()),
  }),
  ExecutionEvent,
)

const flatErrors = [
  'INVALID_INPUT',
  'NOT_FOUND',
  'INSUFFICIENT_CREDITS',
  'EXECUTION_RUNNING',
  'EXECUTION_FAILED',
] as const

const shared = { tag: 'executions', audience: 'credential' } as const
const ofItsSkill = { scopesBeyondOwn: [anySkill], scopesFrom: ['tool:execute:{skillSlug}'] } as const

export const executionRoutes = defineRoutes({
  runSkill: {
    changes: ['executions', 'traces'],
    method: 'POST',
    path: '/api/v1/skills/:slug/run',
    summary: 'Start a skill at once; watch it through its stream',
    description:
      'Watch it at sseUrl. 402: add credits. 403 lists missing_scopes: ask with agents/request-permission. 429 EXECUTION_RUNNING: wait, or send it with ifBusy `queue`: then it waits its turn.',
    resource: 'skills',
    verb: 'run',
    ...shared,
    namesAgent: true,
    scopes: ['tool:execute:{slug}'],
    limits: ['rest', 'skillRun'],
    creates: true,
    flatErrors,
    weight: { bytes: startBodyBytes },
    params: Type.Object({ slug: Type.String() }),
    body: Type.Object({
      input: Input,
      attachments: Type.Optional(Attachments),
      connector: Type.Optional(AnyFields),
      maxCost: Type.Optional(MaxCost),
      ifBusy: Type.Optional(IfBusy),
      source: Type.Optional(Label),
      interface: Type.Optional(Interface),
    }),
    responses: {
      200: Type.Object({
        executionId: Type.String(),
        skillName: Type.String(),
        status: Type.Enum(['started', 'queued']),
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
    example: {
      body: { input: 'The last 7 days', maxCost: 200 },
      answers: {
        200: {
          executionId: 'exec_7d1c',
          skillName: 'Weekly report',
          status: 'started',
          message: 'Weekly report is running',
          sseUrl: '/api/v1/executions/exec_7d1c/stream-token',
        },
      },
    },
  },
  createExecution: {
    changes: ['executions', 'traces'],
    method: 'POST',
    path: '/api/v1/executions',
    summary: 'Prepare an execution; nothing runs until a user.message is posted to it',
    description: 'Needs no scope and costs nothing; one that nobody starts ends after a day.',
    resource: 'executions',
    verb: 'create',
    ...shared,
    namesAgent: true,
    limits: ['rest'],
    creates: true,
    weight: { bytes: startBodyBytes },
    body: Type.Object({
      skill_slug: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      input: Type.Optional(Type.String({ minLength: 1 })),
      source: Type.Optional(Label),
      interface: Type.Optional(Interface),
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
    example: {
      body: { skill_slug: 'weekly-report', input: 'The last 7 days' },
      answers: {
        200: { id: 'exec_7d1c', skill_slug: 'weekly-report', skill_name: 'Weekly report', status: 'idle' },
      },
    },
  },
  listExecutions: {
    method: 'GET',
    path: '/api/v1/executions',
    summary: 'The executions of this workspace, newest first',
    description:
      'Follow nextCursor until it is null; with `offset` what was seen moves down as new ones come. `channels` and `interfaces` filter by what was said at the start, separated by commas.',
    resource: 'executions',
    verb: 'list',
    page: 'cursor',
    ...shared,
    limits: ['rest'],
    query: Type.Object({
      limit: Limit(200),
      cursor: Type.Optional(Type.String({ maxLength: 300 })),
      offset: Offset(),
      status: Type.Optional(ExecutionState),
      skill: Type.Optional(Type.String({ maxLength: 64, description: 'The slug of a skill' })),
      channels: Type.Optional(Type.String({ maxLength: 1000 })),
      interfaces: Type.Optional(Type.String({ maxLength: 1000 })),
    }),
    responses: {
      200: Type.Object({
        items: Type.Array(Execution),
        nextCursor: Nullable(Type.String()),
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
    description: 'Output blocks are the log folded for reading; to watch it live use the stream.',
    resource: 'executions',
    verb: 'status',
    ...shared,
    limits: ['rest'],
    params: ExecutionParam,
    responses: {
      200: ExecutionStatus,
    },
    errors: ['NOT_FOUND'],
  },
  getStreamToken: {
    method: 'GET',
    path: '/api/v1/executions/:executionId/stream-token',
    summary: 'An address at which the events can be read for whoever holds it; open it within a minute',
    description:
      'Asked for text/event-stream, this address is the stream itself; otherwise get a new address for every opening.',
    resource: 'executions',
    verb: 'streamToken',
    ...shared,
    limits: ['rest'],
    params: ExecutionParam,
    responses: { 200: Type.Object({ sseUrl: Type.String() }) },
    stream: ExecutionStreamEvent,
    errors: ['NOT_FOUND'],
    example: {
      answers: { 200: { sseUrl: 'https://example.com/api/v1/executions/exec_7d1c/stream?token=…' } },
    },
  },
  postExecutionEvents: {
    changes: ['executions', 'traces'],
    method: 'POST',
    path: '/api/v1/executions/:executionId/events',
    summary:
      'Start a prepared execution with a user.message, or end one with a user.interrupt; several are taken in order, all or none',
    description:
      'With ifBusy `queue` it waits its turn instead of 429. 409 once it has started or ended. 402: add credits.',
    resource: 'executions',
    verb: 'post',
    creates: true,
    ...shared,
    namesAgent: true,
    ...ofItsSkill,
    limits: ['rest'],
    flatErrors: ['EXECUTION_RUNNING'],
    params: ExecutionParam,
    weight: openInput,
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
        // That there is one is asked after the scope, which an empty list does not get around.
        { maxItems: maxEvents, description: 'At least one' },
      ),
      ifBusy: Type.Optional(IfBusy),
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
    example: {
      body: { events: [{ type: 'user.message', content: [{ type: 'text', text: 'Go' }] }], ifBusy: 'queue' },
      answers: {
        200: {
          data: [
            {
              id: 'evt_311_1',
              type: 'user.message',
              sequence: 1,
              payload: { content: [{ type: 'text', text: 'Go' }] },
            },
          ],
        },
      },
    },
  },
  rerunExecution: {
    changes: ['executions', 'traces'],
    method: 'POST',
    path: '/api/v1/executions/:executionId/rerun',
    summary: 'Run the same skill again with another input, linked to this execution',
    description:
      "It gets the skill's present version, and the attachments of the parent unless you send some or an empty list; those that others attached want workspace:files:read of a key. 402, 403 and 429 as when a skill is run; with ifBusy `queue` it waits its turn.",
    resource: 'executions',
    verb: 'rerun',
    ...shared,
    namesAgent: true,
    scopes: [anySkill],
    scopesFrom: ofItsSkill.scopesFrom,
    limits: ['rest', 'skillRun'],
    creates: true,
    flatErrors: ['EXECUTION_RUNNING'],
    params: ExecutionParam,
    weight: { bytes: startBodyBytes },
    body: Type.Object({
      input: Input,
      maxCost: Type.Optional(MaxCost),
      ifBusy: Type.Optional(IfBusy),
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
        status: Type.Enum(['started', 'queued']),
        message: Type.String(),
      }),
    },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'INSUFFICIENT_CREDITS', 'EXECUTION_RUNNING', 'EXECUTION_FAILED'],
    example: {
      body: { input: 'The last 14 days', ifBusy: 'queue' },
      answers: {
        200: {
          executionId: 'exec_8e2d',
          parentExecutionId: 'exec_7d1c',
          skillName: 'Weekly report',
          status: 'started',
          message: 'Weekly report is running again',
        },
      },
    },
  },
  cancelExecution: {
    changes: ['executions', 'traces'],
    method: 'POST',
    path: '/api/v1/executions/:executionId/cancel',
    summary: 'End an execution and every process of it',
    description:
      'Says whether processes were killed; `success` is false when it had ended already. What was used is charged.',
    resource: 'executions',
    verb: 'cancel',
    ...shared,
    ...ofItsSkill,
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
    example: {
      answers: { 200: { success: true, message: 'Canceled', processKilled: true, actualStatus: 'failed' } },
    },
  },
})
