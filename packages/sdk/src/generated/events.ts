// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type {} from './records.ts'

/** What {@link getSubscribeUrl} answers. */
export interface GetSubscribeUrlAnswer {
  url: string
  expiresInMs: number
}

/**
 * A single-use address of this credential's event socket.
 *
 * Connect a WebSocket to it within five minutes. Each message is one LiveEvent; none is repeated, so read what you show again after every reconnect. Add beats=1 to the address to be told {"type":"beat"} every 25 seconds, where pings cannot be seen. Close codes: 4001 the credential ended, 4008 too many sockets, 1012 reconnect.
 */
export const getSubscribeUrl: Operation<object, GetSubscribeUrlAnswer> = {
  name: 'getSubscribeUrl',
  path: '/api/v1/events/subscribe-url',
}

/** One method for each of these operations. */
export class Events extends Resource {
  /**
   * A single-use address of this credential's event socket.
   *
   * Connect a WebSocket to it within five minutes. Each message is one LiveEvent; none is repeated, so read what you show again after every reconnect. Add beats=1 to the address to be told {"type":"beat"} every 25 seconds, where pings cannot be seen. Close codes: 4001 the credential ended, 4008 too many sockets, 1012 reconnect.
   */
  subscribeUrl(options?: CallOptions): Promise<GetSubscribeUrlAnswer> {
    return this.client.call({ name: 'getSubscribeUrl', path: '/api/v1/events/subscribe-url' }, {}, options)
  }
}
