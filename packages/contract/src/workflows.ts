import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { Nullable, Success, Timestamp } from './shapes.ts'
import { openDefinition } from './weight.ts'

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
  {
    code: Type.String(),
    path: Type.String({ description: 'Dotted, from the root of the definition; empty for the whole' }),
    message: Type.String(),
    hint: Type.String({ description: 'What to write there instead' }),
  },
  { title: 'WorkflowIssue' },
)
export type WorkflowIssue = Static<typeof WorkflowIssue>

/** Any of three shapes, told apart by the handler: { content }, { definition }, or the definition itself. */
const DefinitionBody = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })

const shared = { tag: 'workflows', audience: 'credential', limits: ['rest'] } as const
const writes = { ...shared, scopes: ['workspace:files:write'] } as const

export const workflowRoutes = defineRoutes({
  listWorkflows: {
    ...shared,
    method: 'GET',
    path: '/api/v1/workflows',
    summary: 'The installed workflows',
    description: 'With their definitions as text; `definitions` leaves them out.',
    resource: 'workflows',
    verb: 'list',
    page: 'bare',
    answers: 'json',
    responses: { 200: Type.Array(Workflow) },
    errors: [],
  },
  listWorkflowDefinitions: {
    ...shared,
    method: 'GET',
    path: '/api/v1/workflows/definitions',
    summary: 'What can be launched, without the graphs',
    description: 'Launch one by its id or slug with inputs that fit inputSchema.',
    resource: 'workflows',
    verb: 'definitions',
    page: 'bare',
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
    example: {
      answers: { 200: { workflows: [], format: 'guildhall-workflow-v1', exportable: true, count: 0 } },
    },
  },
  getWorkflowGuide: {
    ...shared,
    method: 'GET',
    path: '/api/v1/workflows/definitions/guide',
    summary: 'How to write a definition, for whoever has never seen one',
    description:
      'One page of text for a model: the entries, mappings and conditions, what is not possible, the tools and agents of this workspace, three examples. Never more than about 1,800 tokens.',
    resource: 'workflows',
    verb: 'guide',
    responses: { 200: Type.Object({ guide: Type.String() }) },
    errors: [],
    example: { answers: { 200: { guide: '# How to write a workflow …' } } },
  },
  validateWorkflow: {
    changes: [],
    ...shared,
    method: 'POST',
    path: '/api/v1/workflows/validate',
    summary: 'Whether a definition could be installed here, and everything that is wrong with it',
    description:
      'Writes nothing. Each issue has a code, the path of what is wrong, and a hint: what to write there instead.',
    resource: 'workflows',
    verb: 'validate',
    weight: openDefinition,
    body: DefinitionBody,
    responses: {
      200: Type.Object({
        valid: Type.Boolean(),
        issues: Type.Array(WorkflowIssue),
        truncated: Type.Optional(Type.Boolean()),
      }),
    },
    errors: ['INVALID_INPUT'],
    example: {
      body: { definition: { id: 'weekly', graph: [] } },
      answers: { 200: { valid: true, issues: [] } },
    },
  },
  installWorkflowFromArtifact: {
    changes: ['workflows'],
    ...writes,
    method: 'POST',
    path: '/api/v1/workflows/install-from-artifact',
    summary: 'Install the workflow.json of an artifact',
    description:
      '404 when there is no such artifact, 400 when it is no workflow. 500 INTERNAL_ERROR when its workflow.json is missing (details.missing) or not valid (details.issues, as validate lists them).',
    resource: 'workflows',
    verb: 'installFromArtifact',
    creates: true,
    body: Type.Object({ artifactId: Type.String({ minLength: 1, maxLength: 100 }) }),
    responses: { 201: Workflow },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'INTERNAL_ERROR'],
    example: { body: { artifactId: 'artifact_4kq2' } },
  },
  installWorkflow: {
    changes: ['workflows'],
    ...writes,
    method: 'POST',
    path: '/api/v1/workflows/:slug/install',
    summary: 'Install a definition under a slug, or replace the one that is there',
    description:
      'Send { content } (text), { definition }, or the definition itself. Runs that are under way keep theirs.',
    resource: 'workflows',
    verb: 'install',
    creates: true,
    params: SlugParam,
    weight: openDefinition,
    body: DefinitionBody,
    responses: { 201: Workflow },
    errors: ['INVALID_INPUT', 'INTERNAL_ERROR'],
    example: { body: { definition: { id: 'weekly', graph: [] } } },
  },
  getWorkflow: {
    ...shared,
    method: 'GET',
    path: '/api/v1/workflows/:slug',
    summary: 'One installed workflow',
    description: 'With its definition as text.',
    resource: 'workflows',
    verb: 'get',
    params: SlugParam,
    responses: { 200: Workflow },
    errors: ['NOT_FOUND'],
  },
  uninstallWorkflow: {
    changes: ['workflows'],
    ...writes,
    method: 'POST',
    path: '/api/v1/workflows/:slug/uninstall',
    summary: 'Take a workflow out of the workspace; its runs go on',
    description: '404 when it is not installed.',
    resource: 'workflows',
    verb: 'uninstall',
    params: SlugParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
  deleteWorkflow: {
    changes: ['workflows'],
    ...writes,
    method: 'DELETE',
    path: '/api/v1/workflows/:slug',
    summary: 'The same as uninstall',
    description: '404 when it is not installed.',
    resource: 'workflows',
    verb: 'delete',
    params: SlugParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
})
