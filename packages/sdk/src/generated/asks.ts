// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type { Action, AskChoice, Open, Success } from './records.ts'

/** What is sent to {@link askPerson}. */
export interface AskPersonBody {
  question: string
  action?: Action | undefined
  choices?: AskChoice[] | undefined
  schema?: Record<string, unknown> | undefined
  /** Seconds; 3600 when left out */
  expires_in?: number | undefined
}

/** What {@link askPerson} answers. */
export interface AskPersonAnswer {
  status: 'pending'
  ask_id: string
  approval_url: string
  poll_url: string
  poll_interval_seconds: number
}

/**
 * Ask the person about an act of your own; nothing is granted by the answer.
 *
 * Show approval_url to the person and poll. Equal asks that wait share an id; 429 when five requests of this key wait.
 */
export const askPerson: Operation<{ body: AskPersonBody }, AskPersonAnswer> = {
  name: 'askPerson',
  path: '/api/v1/agents/ask',
  method: 'POST',
  creates: true,
  repeatable: true,
}

/** What {@link pollAsk} can be asked for. */
export interface PollAskQuery {
  /** Seconds to wait for a decision */
  wait?: number | undefined
}

/** What {@link pollAsk} answers. */
export interface PollAskAnswer {
  status: Open<'pending' | 'answered' | 'denied' | 'expired' | 'withdrawn'>
  choice?: string
  /** Fits the schema of the ask, if it has one. At most 65536 bytes as JSON and 64 levels deep */
  answer?: unknown
  /** In place of the args of its action, where it has any. At most 65536 bytes as JSON and 64 levels deep */
  edited_args?: unknown
  deny_reason?: string
}

/**
 * Whether the person has answered, and what.
 *
 * With `wait` it answers as soon as there is something to tell. What it tells but pending is final. 404 for another key's.
 */
export const pollAsk: Operation<
  { params: { askId: string }; query?: PollAskQuery | undefined },
  PollAskAnswer
> = { name: 'pollAsk', path: '/api/v1/agents/ask/poll/:askId' }

/** What is sent to {@link withdrawAsk}. */
export interface WithdrawAskBody {
  because?: string | undefined
}

/**
 * Take an ask back, as when the person has answered at the terminal.
 *
 * 409 when it was answered, denied or has expired already; again is as good as once.
 */
export const withdrawAsk: Operation<
  { params: { askId: string }; body?: WithdrawAskBody | undefined },
  Success
> = { name: 'withdrawAsk', path: '/api/v1/agents/ask/:askId/withdraw', method: 'POST' }

/** One method for each of these operations. */
export class Asks extends Resource {
  /**
   * Ask the person about an act of your own; nothing is granted by the answer.
   *
   * Show approval_url to the person and poll. Equal asks that wait share an id; 429 when five requests of this key wait.
   */
  create(body: AskPersonBody, options?: CallOptions): Promise<AskPersonAnswer> {
    return this.client.call(
      { name: 'askPerson', path: '/api/v1/agents/ask', method: 'POST', creates: true, repeatable: true },
      { body },
      options,
    )
  }
  /**
   * Whether the person has answered, and what.
   *
   * With `wait` it answers as soon as there is something to tell. What it tells but pending is final. 404 for another key's.
   */
  poll(askId: string, query?: PollAskQuery, options?: CallOptions): Promise<PollAskAnswer> {
    return this.client.call(
      { name: 'pollAsk', path: '/api/v1/agents/ask/poll/:askId' },
      { params: { askId }, query },
      options,
    )
  }
  /**
   * Take an ask back, as when the person has answered at the terminal.
   *
   * 409 when it was answered, denied or has expired already; again is as good as once.
   */
  withdraw(askId: string, body?: WithdrawAskBody, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'withdrawAsk', path: '/api/v1/agents/ask/:askId/withdraw', method: 'POST' },
      { params: { askId }, body },
      options,
    )
  }
}
