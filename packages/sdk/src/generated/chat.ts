// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type { ChatRunStatus, ChatUsage, IfActive, Open } from './records.ts'

/** What is sent to {@link chat}. */
export interface ChatBody {
  message: string
  /** A name of your own choice, or the id of a thread; the first use makes the thread */
  threadId?: string | undefined
  stream?: boolean | undefined
  /** With stream: also parts of replies as they come */
  deltas?: boolean | undefined
  waitSeconds?: number | undefined
  ifActive?: IfActive | undefined
  /** In Ds, of the run that answers and all that it causes */
  maxCost?: number | undefined
  model?: string | undefined
}

/** What {@link chat} answers. */
export interface ChatAnswer {
  threadId: string
  /** chat_<uuid> */
  runId: string
  status: Open<ChatRunStatus>
  /** What the agent said last */
  message: string | null
  usage: ChatUsage
  /** In Ds */
  cost: number
  stopReason: string | null
  errorCode: string | null
  workflowRuns?: string[]
  approval?: {
    id: string
  }
}

/**
 * Write to an agent and get its answer, at once or as it comes.
 *
 * With `stream` it answers the events of this run, to its end. Otherwise it answers when the run has ended, waits for a person, or waitSeconds are over; `status` says which, and the run goes on. A repeat under the same Idempotency-Key joins the same run. 402: add credits; 429 when 20 runs wait in the thread, or 1,000 in the workspace.
 */
export const chat: Operation<{ params: { agentId: string }; body: ChatBody }, ChatAnswer> = {
  name: 'chat',
  path: '/api/v1/chat/:agentId',
  method: 'POST',
  creates: true,
  namesAgent: true,
  answers: 'either',
}

/** One method for each of these operations. */
export class Chat extends Resource {
  /**
   * Write to an agent and get its answer, at once or as it comes.
   *
   * With `stream` it answers the events of this run, to its end. Otherwise it answers when the run has ended, waits for a person, or waitSeconds are over; `status` says which, and the run goes on. A repeat under the same Idempotency-Key joins the same run. 402: add credits; 429 when 20 runs wait in the thread, or 1,000 in the workspace.
   */
  send(agentId: string, body: ChatBody, options?: CallOptions): Promise<ChatAnswer> {
    return this.client.call(
      {
        name: 'chat',
        path: '/api/v1/chat/:agentId',
        method: 'POST',
        creates: true,
        namesAgent: true,
        answers: 'either',
      },
      { params: { agentId }, body },
      options,
    )
  }
}
