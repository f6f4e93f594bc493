// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type { Workspace, WorkspaceRef } from './records.ts'

/**
 * The person's workspaces; for a key or an OAuth token the one it is bound to.
 *
 * The id of one of them goes into x-workspace-id, or becomes the default with PUT current.
 */
export const listWorkspaces: Operation<object, Workspace[]> = {
  name: 'listWorkspaces',
  path: '/api/v1/workspaces',
}

/** What is sent to {@link createWorkspace}. */
export interface CreateWorkspaceBody {
  name: string
}

/**
 * Create a team workspace.
 *
 * The caller becomes its owner. Needs only a name; invite the others afterwards.
 */
export const createWorkspace: Operation<{ body: CreateWorkspaceBody }, Workspace> = {
  name: 'createWorkspace',
  path: '/api/v1/workspaces',
  method: 'POST',
  creates: true,
}

/** What is sent to {@link setCurrentWorkspace}. */
export interface SetCurrentWorkspaceBody {
  workspaceId: string
}

/** What {@link setCurrentWorkspace} answers. */
export interface SetCurrentWorkspaceAnswer {
  success: true
  workspace: WorkspaceRef
}

/**
 * Set a session's default workspace; a key accepts only the workspace it is bound to.
 *
 * 409 for a key or a token that is bound to another workspace; pair one there instead.
 */
export const setCurrentWorkspace: Operation<{ body: SetCurrentWorkspaceBody }, SetCurrentWorkspaceAnswer> = {
  name: 'setCurrentWorkspace',
  path: '/api/v1/workspaces/current',
  method: 'PUT',
}

/** One method for each of these operations. */
export class Workspaces extends Resource {
  /**
   * The person's workspaces; for a key or an OAuth token the one it is bound to.
   *
   * The id of one of them goes into x-workspace-id, or becomes the default with PUT current.
   */
  list(options?: CallOptions): Promise<Workspace[]> {
    return this.client.call({ name: 'listWorkspaces', path: '/api/v1/workspaces' }, {}, options)
  }
  /**
   * Create a team workspace.
   *
   * The caller becomes its owner. Needs only a name; invite the others afterwards.
   */
  create(body: CreateWorkspaceBody, options?: CallOptions): Promise<Workspace> {
    return this.client.call(
      { name: 'createWorkspace', path: '/api/v1/workspaces', method: 'POST', creates: true },
      { body },
      options,
    )
  }
  /**
   * Set a session's default workspace; a key accepts only the workspace it is bound to.
   *
   * 409 for a key or a token that is bound to another workspace; pair one there instead.
   */
  setCurrent(body: SetCurrentWorkspaceBody, options?: CallOptions): Promise<SetCurrentWorkspaceAnswer> {
    return this.client.call(
      { name: 'setCurrentWorkspace', path: '/api/v1/workspaces/current', method: 'PUT' },
      { body },
      options,
    )
  }
}
