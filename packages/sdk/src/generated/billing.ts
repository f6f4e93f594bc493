// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { list, type Pager } from '../pager.ts'
import { Resource } from '../resource.ts'
import type { Billing, LedgerEntry } from './records.ts'

/**
 * The person's credits: what is there, what is set aside, what was spent.
 *
 * A start needs minimumRequired available; 402 tells the same numbers.
 */
export const getBilling: Operation<object, Billing> = { name: 'getBilling', path: '/api/v1/billing' }

/** What {@link listLedger} can be asked for. */
export interface ListLedgerQuery {
  /** 1 to 200; what lies outside is read as the nearest */
  limit?: number | undefined
  cursor?: string | undefined
}

/** What {@link listLedger} answers. */
export interface ListLedgerAnswer {
  items: LedgerEntry[]
  nextCursor: string | null
}

/**
 * Every movement of the person's credits, newest first; never changed afterwards.
 *
 * Follow nextCursor until it is null; a correction is an entry of its own.
 */
export const listLedger: Operation<{ query?: ListLedgerQuery | undefined }, ListLedgerAnswer> = {
  name: 'listLedger',
  path: '/api/v1/billing/ledger',
  page: 'cursor',
}

/** One method for each of these operations. */
export class BillingResource extends Resource {
  /**
   * The person's credits: what is there, what is set aside, what was spent.
   *
   * A start needs minimumRequired available; 402 tells the same numbers.
   */
  get(options?: CallOptions): Promise<Billing> {
    return this.client.call({ name: 'getBilling', path: '/api/v1/billing' }, {}, options)
  }
  /**
   * Every movement of the person's credits, newest first; never changed afterwards.
   *
   * Follow nextCursor until it is null; a correction is an entry of its own.
   */
  ledger(query?: ListLedgerQuery, options?: CallOptions): Pager<LedgerEntry> {
    return list(
      this.client,
      { name: 'listLedger', path: '/api/v1/billing/ledger', page: 'cursor' },
      { query },
      options,
    )
  }
}
