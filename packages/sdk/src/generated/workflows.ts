// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type { Success, Workflow, WorkflowIssue } from './records.ts'

/**
 * The installed workflows.
 *
 * With their definitions as text; `definitions` leaves them out.
 */
export const listWorkflows: Operation<object, Workflow[]> = {
  name: 'listWorkflows',
  path: '/api/v1/workflows',
}

/** What {@link listWorkflowDefinitions} answers. */
export interface ListWorkflowDefinitionsAnswer {
  workflows: {
    id: string
    slug: string
    name: string
    description: string
    category: string
    inputSchema: unknown
    outputSchema: unknown
    triggers: unknown[]
    requiresConnector: string | null
  }[]
  format: string
  exportable: boolean
  count: number
}

/**
 * What can be launched, without the graphs.
 *
 * Launch one by its id or slug with inputs that fit inputSchema.
 */
export const listWorkflowDefinitions: Operation<object, ListWorkflowDefinitionsAnswer> = {
  name: 'listWorkflowDefinitions',
  path: '/api/v1/workflows/definitions',
}

/** What {@link getWorkflowGuide} answers. */
export interface GetWorkflowGuideAnswer {
  guide: string
}

/**
 * How to write a definition, for whoever has never seen one.
 *
 * One page of text for a model: the entries, mappings and conditions, what is not possible, the tools and agents of this workspace, three examples. Never more than about 1,800 tokens.
 */
export const getWorkflowGuide: Operation<object, GetWorkflowGuideAnswer> = {
  name: 'getWorkflowGuide',
  path: '/api/v1/workflows/definitions/guide',
}

/** What is sent to {@link validateWorkflow}. */
export type ValidateWorkflowBody = Record<string, unknown>

/** What {@link validateWorkflow} answers. */
export interface ValidateWorkflowAnswer {
  valid: boolean
  issues: WorkflowIssue[]
  truncated?: boolean
}

/**
 * Whether a definition could be installed here, and everything that is wrong with it.
 *
 * Writes nothing. Each issue has a code, the path of what is wrong, and a hint: what to write there instead.
 */
export const validateWorkflow: Operation<{ body: ValidateWorkflowBody }, ValidateWorkflowAnswer> = {
  name: 'validateWorkflow',
  path: '/api/v1/workflows/validate',
  method: 'POST',
  repeatable: true,
}

/** What is sent to {@link installWorkflowFromArtifact}. */
export interface InstallWorkflowFromArtifactBody {
  artifactId: string
}

/**
 * Install the workflow.json of an artifact.
 *
 * 404 when there is no such artifact, 400 when it is no workflow. 500 INTERNAL_ERROR when its workflow.json is missing (details.missing) or not valid (details.issues, as validate lists them).
 */
export const installWorkflowFromArtifact: Operation<{ body: InstallWorkflowFromArtifactBody }, Workflow> = {
  name: 'installWorkflowFromArtifact',
  path: '/api/v1/workflows/install-from-artifact',
  method: 'POST',
  creates: true,
}

/** What is sent to {@link installWorkflow}. */
export type InstallWorkflowBody = Record<string, unknown>

/**
 * Install a definition under a slug, or replace the one that is there.
 *
 * Send { content } (text), { definition }, or the definition itself. Runs that are under way keep theirs.
 */
export const installWorkflow: Operation<{ params: { slug: string }; body: InstallWorkflowBody }, Workflow> = {
  name: 'installWorkflow',
  path: '/api/v1/workflows/:slug/install',
  method: 'POST',
  creates: true,
}

/**
 * One installed workflow.
 *
 * With its definition as text.
 */
export const getWorkflow: Operation<{ params: { slug: string } }, Workflow> = {
  name: 'getWorkflow',
  path: '/api/v1/workflows/:slug',
}

/**
 * Take a workflow out of the workspace; its runs go on.
 *
 * 404 when it is not installed.
 */
export const uninstallWorkflow: Operation<{ params: { slug: string } }, Success> = {
  name: 'uninstallWorkflow',
  path: '/api/v1/workflows/:slug/uninstall',
  method: 'POST',
}

/**
 * The same as uninstall.
 *
 * 404 when it is not installed.
 */
export const deleteWorkflow: Operation<{ params: { slug: string } }, Success> = {
  name: 'deleteWorkflow',
  path: '/api/v1/workflows/:slug',
  method: 'DELETE',
}

/** What is sent to {@link launchWorkflow}. */
export interface LaunchWorkflowBody {
  inputs?: Record<string, unknown> | undefined
}

/** What {@link launchWorkflow} answers. */
export interface LaunchWorkflowAnswer {
  runId: string
  workflowId: string
  status: 'started'
  conversationId?: string
}

/**
 * Run a workflow, named by slug, runtime id or declared id.
 *
 * Watch it at runs/:runId/events. 400 lists inputs that do not fit; 403 lists missing_scopes; 503: start again.
 */
export const launchWorkflow: Operation<
  { params: { id: string }; body?: LaunchWorkflowBody | undefined },
  LaunchWorkflowAnswer
> = {
  name: 'launchWorkflow',
  path: '/api/v1/workflows/:id/launch',
  method: 'POST',
  creates: true,
  namesAgent: true,
}

/** One method for each of these operations. */
export class Workflows extends Resource {
  /**
   * The installed workflows.
   *
   * With their definitions as text; `definitions` leaves them out.
   */
  list(options?: CallOptions): Promise<Workflow[]> {
    return this.client.call({ name: 'listWorkflows', path: '/api/v1/workflows' }, {}, options)
  }
  /**
   * What can be launched, without the graphs.
   *
   * Launch one by its id or slug with inputs that fit inputSchema.
   */
  definitions(options?: CallOptions): Promise<ListWorkflowDefinitionsAnswer> {
    return this.client.call(
      { name: 'listWorkflowDefinitions', path: '/api/v1/workflows/definitions' },
      {},
      options,
    )
  }
  /**
   * How to write a definition, for whoever has never seen one.
   *
   * One page of text for a model: the entries, mappings and conditions, what is not possible, the tools and agents of this workspace, three examples. Never more than about 1,800 tokens.
   */
  guide(options?: CallOptions): Promise<GetWorkflowGuideAnswer> {
    return this.client.call(
      { name: 'getWorkflowGuide', path: '/api/v1/workflows/definitions/guide' },
      {},
      options,
    )
  }
  /**
   * Whether a definition could be installed here, and everything that is wrong with it.
   *
   * Writes nothing. Each issue has a code, the path of what is wrong, and a hint: what to write there instead.
   */
  validate(body: ValidateWorkflowBody, options?: CallOptions): Promise<ValidateWorkflowAnswer> {
    return this.client.call(
      { name: 'validateWorkflow', path: '/api/v1/workflows/validate', method: 'POST', repeatable: true },
      { body },
      options,
    )
  }
  /**
   * Install the workflow.json of an artifact.
   *
   * 404 when there is no such artifact, 400 when it is no workflow. 500 INTERNAL_ERROR when its workflow.json is missing (details.missing) or not valid (details.issues, as validate lists them).
   */
  installFromArtifact(body: InstallWorkflowFromArtifactBody, options?: CallOptions): Promise<Workflow> {
    return this.client.call(
      {
        name: 'installWorkflowFromArtifact',
        path: '/api/v1/workflows/install-from-artifact',
        method: 'POST',
        creates: true,
      },
      { body },
      options,
    )
  }
  /**
   * Install a definition under a slug, or replace the one that is there.
   *
   * Send { content } (text), { definition }, or the definition itself. Runs that are under way keep theirs.
   */
  install(slug: string, body: InstallWorkflowBody, options?: CallOptions): Promise<Workflow> {
    return this.client.call(
      { name: 'installWorkflow', path: '/api/v1/workflows/:slug/install', method: 'POST', creates: true },
      { params: { slug }, body },
      options,
    )
  }
  /**
   * One installed workflow.
   *
   * With its definition as text.
   */
  get(slug: string, options?: CallOptions): Promise<Workflow> {
    return this.client.call(
      { name: 'getWorkflow', path: '/api/v1/workflows/:slug' },
      { params: { slug } },
      options,
    )
  }
  /**
   * Take a workflow out of the workspace; its runs go on.
   *
   * 404 when it is not installed.
   */
  uninstall(slug: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'uninstallWorkflow', path: '/api/v1/workflows/:slug/uninstall', method: 'POST' },
      { params: { slug } },
      options,
    )
  }
  /**
   * The same as uninstall.
   *
   * 404 when it is not installed.
   */
  delete(slug: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'deleteWorkflow', path: '/api/v1/workflows/:slug', method: 'DELETE' },
      { params: { slug } },
      options,
    )
  }
}
