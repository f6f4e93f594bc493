import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { RunChangesEvent, RunSnapshot, RunStatus, RunStreamEvent, StepOutcome } from './run-events.ts'
import { Limit, Nullable, Success, shownAs, Timestamp } from './shapes.ts'
import { openInput } from './weight.ts'

const RunParam = Type.Object({ runId: Type.String() })
const Json = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })

export const WorkflowRun = Type.Object(
  {
    runId: Type.String(),
    workflowId: Type.String(),
    status: RunStatus,
    resourceId: Type.String({ description: 'The workspace' }),
    updatedAt: Timestamp,
    snapshot: shownAs(Type.Unsafe<unknown>({}), RunSnapshot),
    conversationId: Type.Optional(Type.String()),
    parentRunId: Type.Optional(Type.String()),
  },
  { title: 'WorkflowRun' },
)
export type WorkflowRun = Static<typeof WorkflowRun>

export const QueueJob = Type.Object(
  {
    runId: Type.String(),
    workflowSlug: Type.String(),
    enqueuedAt: Timestamp,
    status: Type.String(),
  },
  { title: 'QueueJob' },
)
export type QueueJob = Static<typeof QueueJob>

const shared = { tag: 'workflows', audience: 'credential', limits: ['rest'] } as const
const stops = { ...shared, scopesBeyondOwn: ['tool:execute'] } as const
const runs = { ...shared, scopes: ['tool:execute'] } as const

const AlreadyFinished = Type.Object(
  {
    cancelled: Type.Literal(true),
    error: Type.String({ description: 'Workflow run is already <status>' }),
    code: Type.Literal('NOT_SUSPENDED'),
  },
  { description: 'Of a run that has ended' },
)

export const workflowRunRoutes = defineRoutes({
  launchWorkflow: {
    changes: ['runs'],
    ...runs,
    method: 'POST',
    path: '/api/v1/workflows/:id/launch',
    summary: 'Run a workflow, named by slug, runtime id or declared id',
    description:
      'Watch it at runs/:runId/events. 400 lists inputs that do not fit; 403 lists missing_scopes; 503: start again.',
    resource: 'workflows',
    verb: 'launch',
    creates: true,
    namesAgent: true,
    params: Type.Object({ id: Type.String() }),
    optionalBody: true,
    weight: openInput,
    body: Type.Object({ inputs: Type.Optional(Json) }),
    responses: {
      201: Type.Object({
        runId: Type.String(),
        workflowId: Type.String(),
        status: Type.Literal('started'),
        conversationId: Type.Optional(Type.String()),
      }),
    },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'SERVICE_UNAVAILABLE', 'INTERNAL_ERROR'],
    example: {
      body: { inputs: { days: 7 } },
      answers: { 201: { runId: 'run_51aa', workflowId: 'weekly', status: 'started' } },
    },
  },
  listWorkflowRuns: {
    ...shared,
    method: 'GET',
    path: '/api/v1/workflows/runs',
    summary: 'The runs of this workspace, newest first',
    description:
      'Follow nextCursor until it is null. Snapshots are whole, so a page of large runs ends before its limit.',
    resource: 'runs',
    verb: 'list',
    page: 'cursor',
    query: Type.Object({
      limit: Limit(200),
      status: Type.Optional(RunStatus),
      workflowId: Type.Optional(Type.String({ maxLength: 200 })),
      cursor: Type.Optional(Type.String({ maxLength: 300 })),
    }),
    answers: 'json',
    responses: {
      200: Type.Object({ runs: Type.Array(WorkflowRun), nextCursor: Nullable(Type.String()) }),
    },
    errors: ['INVALID_INPUT'],
  },
  getWorkflowRun: {
    ...shared,
    method: 'GET',
    path: '/api/v1/workflows/runs/:runId',
    summary: 'One run and what its steps gave',
    description: '`steps` has what settled steps gave, the snapshot what each one got as well.',
    resource: 'runs',
    verb: 'get',
    params: RunParam,
    answers: 'json',
    responses: {
      200: Type.Object({
        run: WorkflowRun,
        steps: shownAs(Type.Unsafe<Record<string, unknown>>({}), Type.Record(Type.String(), StepOutcome)),
      }),
    },
    errors: ['NOT_FOUND'],
  },
  getWorkflowRunDefinition: {
    ...shared,
    method: 'GET',
    path: '/api/v1/workflows/runs/:runId/definition',
    summary: 'The definition that a run was launched with',
    description:
      'Draw a run from this one: what is installed may be newer, and `current` says whether it is.',
    resource: 'runs',
    verb: 'definition',
    params: RunParam,
    responses: {
      200: Type.Object({
        definition: Json,
        checksum: Type.String({ description: 'SHA-256 of the definition as it was installed' }),
        current: Type.Boolean({ description: 'Whether the same is installed now' }),
      }),
    },
    errors: ['NOT_FOUND'],
    example: { answers: { 200: { definition: { id: 'weekly' }, checksum: '9f86d081…', current: true } } },
  },
  resumeWorkflowRun: {
    changes: ['runs', 'approvals'],
    ...runs,
    method: 'POST',
    path: '/api/v1/workflows/runs/:runId/resume',
    summary: 'Answer the step that a run waits at',
    description:
      'Questions to people take only a session: others get 403 with approval_url. On 409 read the run again: it has moved.',
    resource: 'runs',
    verb: 'resume',
    creates: true,
    params: RunParam,
    optionalBody: true,
    weight: openInput,
    body: Type.Object({
      resumeData: Type.Optional(Type.Unsafe<unknown>({})),
      stepId: Type.Optional(Type.String({ maxLength: 200 })),
    }),
    responses: { 200: Type.Object({ runId: Type.String(), status: Type.Literal('running') }) },
    errors: [
      'INVALID_INPUT',
      'FORBIDDEN',
      'NOT_FOUND',
      'NOT_SUSPENDED',
      'NO_SUSPEND_FRAME',
      'STEP_MISMATCH',
      'RESUME_IN_PROGRESS',
      'RESUME_FAILED',
    ],
    oddRefusals: { 409: AlreadyFinished },
    example: {
      body: { stepId: 'ask', resumeData: { approved: true } },
      answers: { 200: { runId: 'run_51aa', status: 'running' } },
    },
  },
  cancelWorkflowRun: {
    changes: ['runs', 'approvals'],
    ...stops,
    method: 'POST',
    path: '/api/v1/workflows/runs/:runId/cancel',
    summary: 'End a run that is running or suspended',
    description: 'Steps that run are stopped. 409 when it has ended otherwise.',
    resource: 'runs',
    verb: 'cancel',
    params: RunParam,
    responses: { 200: Type.Object({ success: Type.Literal(true), runId: Type.String() }) },
    errors: ['NOT_FOUND', 'CONFLICT'],
    example: { answers: { 200: { success: true, runId: 'run_51aa' } } },
  },
  rerunWorkflowRun: {
    changes: ['runs'],
    ...runs,
    method: 'POST',
    path: '/api/v1/workflows/runs/:runId/rerun',
    summary: 'Run it again, from the start or from a step on with the results before it',
    description:
      'Uses the definition of that run. 409 while it has not ended, or when a step before `fromStep` did not succeed.',
    resource: 'runs',
    verb: 'rerun',
    creates: true,
    namesAgent: true,
    params: RunParam,
    optionalBody: true,
    weight: openInput,
    body: Type.Object({
      fromStep: Type.Optional(Type.String({ maxLength: 128 })),
      inputs: Type.Optional(Json),
    }),
    responses: {
      201: Type.Object({
        runId: Type.String(),
        parentRunId: Type.String(),
        workflowId: Type.String(),
        status: Type.Literal('started'),
        reused: Type.Array(Type.String()),
      }),
    },
    errors: ['INVALID_INPUT', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT', 'SERVICE_UNAVAILABLE'],
    example: {
      body: { fromStep: 'send' },
      answers: {
        201: {
          runId: 'run_62bb',
          parentRunId: 'run_51aa',
          workflowId: 'weekly',
          status: 'started',
          reused: ['fetch'],
        },
      },
    },
  },
  listWorkflowQueue: {
    ...shared,
    method: 'GET',
    path: '/api/v1/workflows/queue',
    summary: 'Runs of this workspace that wait or advance',
    description: 'Oldest first.',
    resource: 'runs',
    verb: 'queue',
    page: 'bare',
    answers: 'json',
    responses: { 200: Type.Object({ queued: Type.Array(QueueJob), total: Type.Number() }) },
    errors: [],
  },
  deleteWorkflowQueueJob: {
    changes: ['runs', 'approvals'],
    ...stops,
    method: 'DELETE',
    path: '/api/v1/workflows/queue/:runId',
    summary: 'Cancel a run that waits or advances',
    description: '404 for a run that has ended or waits for a person; cancel the latter.',
    resource: 'runs',
    verb: 'dequeue',
    params: RunParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
})

const RunStream = Type.Union([RunStreamEvent, RunChangesEvent])

/** Of an answer that stays open. */
export const runStreamRoutes = defineRoutes({
  streamWorkflowRun: {
    ...shared,
    method: 'GET',
    path: '/api/v1/workflows/runs/:runId/events',
    summary: 'The state of a run, and each that follows, until it stands still',
    description:
      'Each frame is a whole snapshot, and its id the version of the run. Ends at success, failed and suspended: open it again after an answer, or ask for it through=suspended. With changes=1 frames after the first tell only what is different.',
    resource: 'runs',
    verb: 'watch',
    params: RunParam,
    query: Type.Object({
      through: Type.Optional(
        Type.Enum(['suspended'], { description: 'Stay open while the run waits for an answer' }),
      ),
      changes: Type.Optional(
        Type.Enum(['1'], { description: 'After the first frame only what is different' }),
      ),
    }),
    answers: 'events',
    stream: RunStream,
    responses: {
      200: RunStream,
    },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
  },
})
