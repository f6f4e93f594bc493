import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { Limit, Nullable, Success, Timestamp } from './shapes.ts'

/** Keeps the bare list of a workspace bounded. */
export const workflowsPerWorkspace = 1000
export const reservedWorkflowSlugs = [
  'definitions',
  'runs',
  'queue',
  'install-from-artifact',
  'validate',
] as const

const SlugParam = Type.Object({ slug: Type.String() })
const RunParam = Type.Object({ runId: Type.String() })
const Json = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })

export const Workflow = Type.Object(
  {
    id: Type.Number(),
    slug: Type.String(),
    name: Type.String(),
    description: Type.String(),
    category: Type.String(),
    storagePath: Type.String(),
    installedAt: Timestamp,
    workspaceId: Type.String(),
    requiresConnector: Nullable(Type.String()),
    definition: Type.String({ description: 'The stored definition, as text' }),
  },
  { title: 'Workflow' },
)
export type Workflow = Static<typeof Workflow>

export const WorkflowIssue = Type.Object(
  { code: Type.String(), path: Type.String(), message: Type.String() },
  { title: 'WorkflowIssue' },
)
export type WorkflowIssue = Static<typeof WorkflowIssue>

export const WorkflowRun = Type.Object(
  {
    runId: Type.String(),
    workflowId: Type.String(),
    status: Type.Enum(['running', 'suspended', 'success', 'failed', 'canceled']),
    resourceId: Type.String({ description: 'The workspace' }),
    updatedAt: Timestamp,
    snapshot: Type.Unsafe<unknown>({}),
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

/** Any of three shapes, told apart by the handler: { content }, { definition }, or the definition itself. */
const DefinitionBody = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })

const shared = { tag: 'workflows', audience: 'credential', limits: ['rest'] } as const
const writes = { ...shared, scopes: ['workspace:files:write'] } as const
const stops = { ...shared, scopesBeyondOwn: ['tool:execute'] } as const
const runs = { ...shared, scopes: ['tool:execute'] } as const

export const workflowRoutes = defineRoutes({
  listWorkflows: {
    ...shared,
    method: 'GET',
    path: '/api/v1/workflows',
    summary: 'The installed workflows',
    answers: 'json',
    responses: { 200: Type.Array(Workflow) },
    errors: [],
  },
  listWorkflowDefinitions: {
    ...shared,
    method: 'GET',
    path: '/api/v1/workflows/definitions',
    summary: 'What can be launched, without the graphs',
    answers: 'json',
    responses: {
      200: Type.Object({
        workflows: Type.Array(
          Type.Object({
            id: Type.String(),
            slug: Type.String(),
            name: Type.String(),
            description: Type.String(),
            category: Type.String(),
            inputSchema: Type.Unsafe<unknown>({}),
            outputSchema: Type.Unsafe<unknown>({}),
            triggers: Type.Array(Type.Unsafe<unknown>({})),
            requiresConnector: Nullable(Type.String()),
          }),
        ),
        format: Type.String(),
        exportable: Type.Boolean(),
        count: Type.Number(),
      }),
    },
    errors: [],
  },
  validateWorkflow: {
    ...shared,
    method: 'POST',
    path: '/api/v1/workflows/validate',
    summary: 'Whether a definition could be installed here, and everything that is wrong with it',
    body: DefinitionBody,
    responses: {
      200: Type.Object({
        valid: Type.Boolean(),
        issues: Type.Array(WorkflowIssue),
        truncated: Type.Optional(Type.Boolean()),
      }),
    },
    errors: ['INVALID_INPUT'],
  },
  installWorkflowFromArtifact: {
    ...writes,
    method: 'POST',
    path: '/api/v1/workflows/install-from-artifact',
    summary: 'Install the workflow.json of an artifact',
    creates: true,
    body: Type.Object({ artifactId: Type.String({ minLength: 1, maxLength: 100 }) }),
    responses: { 201: Workflow },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'INTERNAL_ERROR'],
  },
  installWorkflow: {
    ...writes,
    method: 'POST',
    path: '/api/v1/workflows/:slug/install',
    summary: 'Install a definition under a slug, or replace the one that is there',
    creates: true,
    params: SlugParam,
    body: DefinitionBody,
    responses: { 201: Workflow },
    errors: ['INVALID_INPUT', 'INTERNAL_ERROR'],
  },
  getWorkflow: {
    ...shared,
    method: 'GET',
    path: '/api/v1/workflows/:slug',
    summary: 'One installed workflow',
    params: SlugParam,
    responses: { 200: Workflow },
    errors: ['NOT_FOUND'],
  },
  uninstallWorkflow: {
    ...writes,
    method: 'POST',
    path: '/api/v1/workflows/:slug/uninstall',
    summary: 'Take a workflow out of the workspace; its runs go on',
    params: SlugParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
  deleteWorkflow: {
    ...writes,
    method: 'DELETE',
    path: '/api/v1/workflows/:slug',
    summary: 'The same as uninstall',
    params: SlugParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
})

/** Of runs. Another table only because two features serve them. */
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
    ...runs,
    method: 'POST',
    path: '/api/v1/workflows/:id/launch',
    summary: 'Run a workflow, named by slug, runtime id or declared id',
    creates: true,
    params: Type.Object({ id: Type.String() }),
    optionalBody: true,
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
  },
  listWorkflowRuns: {
    ...shared,
    method: 'GET',
    path: '/api/v1/workflows/runs',
    summary: 'The runs of this workspace, newest first',
    query: Type.Object({
      limit: Limit(200),
      status: Type.Optional(Type.Enum(['running', 'suspended', 'success', 'failed', 'canceled'])),
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
    params: RunParam,
    responses: { 200: Type.Object({ run: WorkflowRun, steps: Type.Unsafe<Record<string, unknown>>({}) }) },
    errors: ['NOT_FOUND'],
  },
  resumeWorkflowRun: {
    ...runs,
    method: 'POST',
    path: '/api/v1/workflows/runs/:runId/resume',
    summary: 'Answer the step that a run waits at',
    params: RunParam,
    optionalBody: true,
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
  },
  cancelWorkflowRun: {
    ...stops,
    method: 'POST',
    path: '/api/v1/workflows/runs/:runId/cancel',
    summary: 'End a run that is running or suspended',
    params: RunParam,
    responses: { 200: Type.Object({ success: Type.Literal(true), runId: Type.String() }) },
    errors: ['NOT_FOUND', 'CONFLICT'],
  },
  rerunWorkflowRun: {
    ...runs,
    method: 'POST',
    path: '/api/v1/workflows/runs/:runId/rerun',
    summary: 'Run it again, from the start or from a step on with the results before it',
    creates: true,
    params: RunParam,
    optionalBody: true,
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
  },
  listWorkflowQueue: {
    ...shared,
    method: 'GET',
    path: '/api/v1/workflows/queue',
    summary: 'Runs of this workspace that wait or advance',
    responses: { 200: Type.Object({ queued: Type.Array(QueueJob), total: Type.Number() }) },
    errors: [],
  },
  deleteWorkflowQueueJob: {
    ...stops,
    method: 'DELETE',
    path: '/api/v1/workflows/queue/:runId',
    summary: 'Cancel a run that waits or advances',
    params: RunParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
})

/** Of an answer that stays open. */
export const runStreamRoutes = defineRoutes({
  streamWorkflowRun: {
    ...shared,
    method: 'GET',
    path: '/api/v1/workflows/runs/:runId/events',
    summary: 'The state of a run, and each that follows, until it stands still',
    params: RunParam,
    answers: 'events',
    responses: {
      200: Type.Object({
        type: Type.Literal('workflow-snapshot'),
        runId: Type.String(),
        workflowId: Type.String(),
        status: WorkflowRun.properties.status,
        updatedAt: Timestamp,
        snapshot: Type.Unsafe<unknown>({}),
      }),
    },
    errors: ['NOT_FOUND'],
  },
})
