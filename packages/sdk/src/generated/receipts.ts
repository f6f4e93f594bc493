// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { list, type Pager } from '../pager.ts'
import { Resource } from '../resource.ts'
import type { ReceiptItem, SignedReceipt } from './records.ts'

/** What {@link listTraceReceipts} can be asked for. */
export interface ListTraceReceiptsQuery {
  /** 1 to 200; what lies outside is read as the nearest */
  limit?: number | undefined
  cursor?: string | undefined
}

/** What {@link listTraceReceipts} answers. */
export interface ListTraceReceiptsAnswer {
  items: ReceiptItem[]
  nextCursor: string | null
}

/**
 * The receipts of a trace and of the workflow run that caused it, in their order.
 *
 * One is made within a minute of the end of an execution or a run; read it with receipts/:id.
 */
export const listTraceReceipts: Operation<
  { params: { id: string }; query?: ListTraceReceiptsQuery | undefined },
  ListTraceReceiptsAnswer
> = { name: 'listTraceReceipts', path: '/api/v1/traces/:id/receipts', page: 'cursor' }

/**
 * A signed receipt of a whole trace, what was appended to it included.
 *
 * Of the trace as it is: asked again it is the same one until a turn is added. 409 while something runs on it.
 */
export const makeTraceReceipt: Operation<{ params: { id: string } }, SignedReceipt> = {
  name: 'makeTraceReceipt',
  path: '/api/v1/traces/:id/receipts',
  method: 'POST',
}

/**
 * A signed receipt: what was done, and by what right.
 *
 * Its id is receipt_ and the id of the execution or run. 404 until it is made, within a minute of the end. scripts/verify-receipt.ts checks it without this service.
 */
export const getReceipt: Operation<{ params: { id: string } }, SignedReceipt> = {
  name: 'getReceipt',
  path: '/api/v1/receipts/:id',
}

/** What {@link getReceiptKeys} answers. */
export interface GetReceiptKeysAnswer {
  keys: {
    kty: 'OKP'
    crv: 'Ed25519'
    x: string
    /** Its thumbprint (RFC 7638) */
    kid: string
    alg: 'EdDSA'
    use: 'sig'
  }[]
}

/**
 * The public keys that receipts are verified with, as a JWK set.
 *
 * Keep a copy: with it receipts are verified offline. Keys stay listed after their rotation.
 */
export const getReceiptKeys: Operation<object, GetReceiptKeysAnswer> = {
  name: 'getReceiptKeys',
  path: '/.well-known/guildhall-receipt-keys',
  public: true,
}

/** One method for each of these operations. */
export class Receipts extends Resource {
  /**
   * The receipts of a trace and of the workflow run that caused it, in their order.
   *
   * One is made within a minute of the end of an execution or a run; read it with receipts/:id.
   */
  list(id: string, query?: ListTraceReceiptsQuery, options?: CallOptions): Pager<ReceiptItem> {
    return list(
      this.client,
      { name: 'listTraceReceipts', path: '/api/v1/traces/:id/receipts', page: 'cursor' },
      { params: { id }, query },
      options,
    )
  }
  /**
   * A signed receipt of a whole trace, what was appended to it included.
   *
   * Of the trace as it is: asked again it is the same one until a turn is added. 409 while something runs on it.
   */
  make(id: string, options?: CallOptions): Promise<SignedReceipt> {
    return this.client.call(
      { name: 'makeTraceReceipt', path: '/api/v1/traces/:id/receipts', method: 'POST' },
      { params: { id } },
      options,
    )
  }
  /**
   * A signed receipt: what was done, and by what right.
   *
   * Its id is receipt_ and the id of the execution or run. 404 until it is made, within a minute of the end. scripts/verify-receipt.ts checks it without this service.
   */
  get(id: string, options?: CallOptions): Promise<SignedReceipt> {
    return this.client.call({ name: 'getReceipt', path: '/api/v1/receipts/:id' }, { params: { id } }, options)
  }
  /**
   * The public keys that receipts are verified with, as a JWK set.
   *
   * Keep a copy: with it receipts are verified offline. Keys stay listed after their rotation.
   */
  keys(options?: CallOptions): Promise<GetReceiptKeysAnswer> {
    return this.client.call(
      { name: 'getReceiptKeys', path: '/.well-known/guildhall-receipt-keys', public: true },
      {},
      options,
    )
  }
}
