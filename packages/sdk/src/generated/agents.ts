// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type { Agent, AgentVersion, IfActive, Open, Success } from './records.ts'

/**
 * The agents of this workspace, the primary one first.
 *
 * A workspace always has a primary one.
 */
export const listAgents: Operation<object, Agent[]> = { name: 'listAgents', path: '/api/v1/agents' }

/** What is sent to {@link createAgent}. */
export interface CreateAgentBody {
  slug: string
  name?: string | undefined
  description?: string | undefined
  instructions?: string | undefined
  model?: string | null | undefined
  tools?: string[] | undefined
  skills?: string[] | undefined
  /** In Ds; null: as the deployment has it */
  maxCostPerRun?: number | null | undefined
  /** Whether the agent may ask for what reaches outside of the house */
  outside?: 'ask' | 'never' | undefined
  primary?: boolean | undefined
}

/**
 * Add an agent to this workspace.
 *
 * 409 when the slug is taken; 400 when it is reserved, or the workspace has 200 agents.
 */
export const createAgent: Operation<{ body: CreateAgentBody }, Agent> = {
  name: 'createAgent',
  path: '/api/v1/agents',
  method: 'POST',
  creates: true,
}

/**
 * One agent, by its id or its slug.
 *
 * 404 also for an agent of another workspace.
 */
export const getAgent: Operation<{ params: { agentId: string } }, Agent> = {
  name: 'getAgent',
  path: '/api/v1/agents/:agentId',
}

/** What is sent to {@link updateAgent}. */
export interface UpdateAgentBody {
  name?: string | undefined
  description?: string | undefined
  instructions?: string | undefined
  model?: string | null | undefined
  tools?: string[] | undefined
  skills?: string[] | undefined
  /** In Ds; null: as the deployment has it */
  maxCostPerRun?: number | null | undefined
  /** Whether the agent may ask for what reaches outside of the house */
  outside?: 'ask' | 'never' | undefined
  primary?: boolean | undefined
}

/**
 * Change an agent; making it primary takes that from the one before.
 *
 * What is left out stays; each change makes a new version.
 */
export const updateAgent: Operation<{ params: { agentId: string }; body: UpdateAgentBody }, Agent> = {
  name: 'updateAgent',
  path: '/api/v1/agents/:agentId',
  method: 'PATCH',
}

/**
 * What an agent was at each of its versions, newest first.
 *
 * The last 100 are kept; the `active` one is what the agent is now.
 */
export const listAgentVersions: Operation<{ params: { agentId: string } }, AgentVersion[]> = {
  name: 'listAgentVersions',
  path: '/api/v1/agents/:agentId/versions',
}

/**
 * Make an agent again what it was; nothing is deleted.
 *
 * Adds a version with the old content; whether the agent is primary stays as it is.
 */
export const restoreAgentVersion: Operation<{ params: { agentId: string; versionNumber: string } }, Agent> = {
  name: 'restoreAgentVersion',
  path: '/api/v1/agents/:agentId/versions/:versionNumber/restore',
  method: 'POST',
  creates: true,
}

/**
 * Remove an agent; the primary one stays until another is.
 *
 * 409 for the primary one: make another primary first.
 */
export const deleteAgent: Operation<{ params: { agentId: string } }, Success> = {
  name: 'deleteAgent',
  path: '/api/v1/agents/:agentId',
  method: 'DELETE',
}

/** What is sent to {@link sendMessage}. */
export interface SendMessageBody {
  /** The workspace of the credential */
  resourceId: string
  /** A name of your own choice, or the id of a thread; the first use makes the thread */
  threadId: string
  message: string
  ifActive?: IfActive | undefined
  /** In Ds, of the run that answers and all that it causes */
  maxCost?: number | undefined
  model?: string | undefined
}

/** What {@link sendMessage} answers. */
export interface SendMessageAnswer {
  accepted: true
  messageId: string
  /** chat_<uuid> */
  runId: string
  threadId: string
  delivery: Open<'woke' | 'delivered' | 'queued'>
}

/**
 * Write to an agent; the answer comes on the stream of the thread.
 *
 * Once this answers, the message is kept and will be read, whatever fails. Subscribe to the thread first. 402 only when it would start a run; 409 with ifActive reject, details.activeRunId says why; 429 when 20 runs wait in the thread, or 1,000 in the workspace.
 */
export const sendMessage: Operation<
  { params: { agentId: string }; body: SendMessageBody },
  SendMessageAnswer
> = {
  name: 'sendMessage',
  path: '/api/v1/agents/:agentId/send-message',
  method: 'POST',
  creates: true,
  namesAgent: true,
}

/** What is sent to {@link subscribeThread}. */
export interface SubscribeThreadBody {
  /** The workspace of the credential */
  resourceId: string
  /** A name of your own choice, or the id of a thread; the first use makes the thread */
  threadId: string
  lastSeq?: number | undefined
  /** Also parts of replies as they come */
  deltas?: boolean | undefined
  background?: boolean | undefined
}

/**
 * Everything that happens in a thread, from now on or from any place on.
 *
 * Never ends by itself; a heartbeat comes every 25 s. The first frame is thread.ready. To go on after a cut send lastSeq, the last id you have seen. With `background` false events from elsewhere do not look for this thread.
 */
export const subscribeThread: Operation<
  { params: { agentId: string }; body: SubscribeThreadBody },
  Response
> = {
  name: 'subscribeThread',
  path: '/api/v1/agents/:agentId/subscribe-thread',
  method: 'POST',
  answers: 'events',
  window: 'stream',
}

/** One method for each of these operations. */
export class Agents extends Resource {
  /**
   * The agents of this workspace, the primary one first.
   *
   * A workspace always has a primary one.
   */
  list(options?: CallOptions): Promise<Agent[]> {
    return this.client.call({ name: 'listAgents', path: '/api/v1/agents' }, {}, options)
  }
  /**
   * Add an agent to this workspace.
   *
   * 409 when the slug is taken; 400 when it is reserved, or the workspace has 200 agents.
   */
  create(body: CreateAgentBody, options?: CallOptions): Promise<Agent> {
    return this.client.call(
      { name: 'createAgent', path: '/api/v1/agents', method: 'POST', creates: true },
      { body },
      options,
    )
  }
  /**
   * One agent, by its id or its slug.
   *
   * 404 also for an agent of another workspace.
   */
  get(agentId: string, options?: CallOptions): Promise<Agent> {
    return this.client.call(
      { name: 'getAgent', path: '/api/v1/agents/:agentId' },
      { params: { agentId } },
      options,
    )
  }
  /**
   * Change an agent; making it primary takes that from the one before.
   *
   * What is left out stays; each change makes a new version.
   */
  update(agentId: string, body: UpdateAgentBody, options?: CallOptions): Promise<Agent> {
    return this.client.call(
      { name: 'updateAgent', path: '/api/v1/agents/:agentId', method: 'PATCH' },
      { params: { agentId }, body },
      options,
    )
  }
  /**
   * What an agent was at each of its versions, newest first.
   *
   * The last 100 are kept; the `active` one is what the agent is now.
   */
  versions(agentId: string, options?: CallOptions): Promise<AgentVersion[]> {
    return this.client.call(
      { name: 'listAgentVersions', path: '/api/v1/agents/:agentId/versions' },
      { params: { agentId } },
      options,
    )
  }
  /**
   * Make an agent again what it was; nothing is deleted.
   *
   * Adds a version with the old content; whether the agent is primary stays as it is.
   */
  restore(agentId: string, versionNumber: string, options?: CallOptions): Promise<Agent> {
    return this.client.call(
      {
        name: 'restoreAgentVersion',
        path: '/api/v1/agents/:agentId/versions/:versionNumber/restore',
        method: 'POST',
        creates: true,
      },
      { params: { agentId, versionNumber } },
      options,
    )
  }
  /**
   * Remove an agent; the primary one stays until another is.
   *
   * 409 for the primary one: make another primary first.
   */
  delete(agentId: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'deleteAgent', path: '/api/v1/agents/:agentId', method: 'DELETE' },
      { params: { agentId } },
      options,
    )
  }
  /**
   * Write to an agent; the answer comes on the stream of the thread.
   *
   * Once this answers, the message is kept and will be read, whatever fails. Subscribe to the thread first. 402 only when it would start a run; 409 with ifActive reject, details.activeRunId says why; 429 when 20 runs wait in the thread, or 1,000 in the workspace.
   */
  sendMessage(agentId: string, body: SendMessageBody, options?: CallOptions): Promise<SendMessageAnswer> {
    return this.client.call(
      {
        name: 'sendMessage',
        path: '/api/v1/agents/:agentId/send-message',
        method: 'POST',
        creates: true,
        namesAgent: true,
      },
      { params: { agentId }, body },
      options,
    )
  }
}
